import BLEProtocol

/// Notices that an adapter doesn't work, and decides what to do next. A value without I/O.
///
/// ```
///            heard while scanning*           silence, or a symptom            all steps were taken
///   (idle) ─────────────────────► (watching) ─────────────────────► (curing) ─────────────────────► (resigned)
///      ▲                            │    ▲                          │     ▲                             │
///      └───── no scan any more ─────┘    └──── heard, or answered ──┘     └── patience over: next step  │
///                                        └─────────────────────── heard ────────────────────────────────┘
/// ```
/// *) If some device is always in range, or others than the awaited peers were received, the start of a scan is enough.
///
/// Before a step that ends links, it waits longer if there are links: where all devices are linked, none of them
/// advertises, and the silence is no fault. It takes the step in the end, since a scan can hang while links work.
/// ```
///   (curing) ── silence, links ──► (sparing) ── silence goes on, or no links ──► (curing)
///                                      └── heard ──► (watching)
/// ```
struct RecoveryMachine {
    enum TimerID: Hashable {
        /// Fires if nothing was received since its start.
        case silence
        /// Fires if a step hasn't helped, or nothing was received for another part of the time that spares links.
        case patience
        /// Fires when the adapter has worked for long enough.
        case rest
    }

    /// The actions for the driver.
    struct Output: Equatable {
        enum Timer: Equatable {
            case start(TimerID, Duration)
            case cancel(TimerID)
        }

        enum Report: Equatable {
            case noticed(AdapterInfo.Symptom)
            case trying(RecoveryPlan.Step, number: Int)
            case recovered(after: Int)
            case unresolved(AdapterInfo.Symptom, after: Int)
        }

        var timers: [Timer] = []
        var reports: [Report] = []
        var step: RecoveryPlan.Step?
        /// A scan whose failure was held fails now: no step may help it.
        var endsScan = false
    }

    private enum State: Equatable {
        /// There is no scan, or it has received nothing yet, which may be normal: silence means nothing.
        case idle
        /// Can transition to: itself, curing, idle.
        case watching(hasHeard: Bool)
        /// A step is in progress, or was taken and may still help. Can transition to: watching, resigned, idle.
        case curing(AdapterInfo.Symptom, Phase)
        /// The next step would end links that are up: nothing is done for so many more times of silence. Can transition
        /// to: itself, curing, watching, idle.
        case sparing(AdapterInfo.Symptom, left: Int)
        /// No step is left. Can transition to: watching, idle.
        case resigned
    }

    private enum Phase: Equatable {
        case underWay
        case waiting
    }

    /// How many times the plan's silence must pass again before links that are up are ended for it.
    static let spared = 10

    let plan: RecoveryPlan
    private var state = State.idle
    private var isScanning = false
    /// The position of the next step in the plan, and the number of steps taken, since the adapter last worked for long
    /// enough.
    private var place = 0
    private var taken = 0

    init(_ plan: RecoveryPlan) { self.plan = plan }

    /// Whether a step is being taken or will be: a caller that needs the adapter should wait.
    var isCuring: Bool { if case .curing = state { true } else { false } }

    /// Whether a step is in progress now.
    var isStepUnderWay: Bool { if case .curing(_, .underWay) = state { true } else { false } }

    /// Whether a step waits for links that are up.
    var isSparing: Bool { if case .sparing = state { true } else { false } }

    // MARK: - Observations

    /// - Parameter missesOthers: whether others than the awaited peers were received before.
    mutating func scanStarted(missesOthers: Bool = false) -> Output {
        isScanning = true
        guard plan.hearsAlways || missesOthers, case .idle = state else { return Output() }
        state = .watching(hasHeard: false)
        return Output(timers: [.start(.silence, plan.silence)])
    }

    /// No scan runs any more. A step in progress continues.
    mutating func scanStopped() -> Output {
        isScanning = false
        switch state {
        case .watching:
            state = .idle
            return Output(timers: [.cancel(.silence)])
        case .resigned:
            state = .idle
            return Output()
        case .curing(_, .waiting), .sparing:
            // Without a scan, nothing would show whether it helped.
            state = .idle
            return Output(timers: [.cancel(.patience), .start(.rest, plan.rest)])
        case .idle, .curing:
            return Output()
        }
    }

    /// An advertisement was received.
    mutating func heard() -> Output {
        switch state {
        case .watching(hasHeard: true), .curing(_, .underWay):
            return Output()
        case .watching(hasHeard: false):
            state = .watching(hasHeard: true)
            return Output()
        // Told behind the end of a scan, which another thread has ended: no silence after it means anything.
        case .idle where !isScanning: return Output()
        case .idle, .resigned:
            state = .watching(hasHeard: true)
            return Output(timers: [.start(.silence, plan.silence)])
        case .curing(_, .waiting), .sparing:
            return recovered()
        }
    }

    /// A link was made: the adapter has received the peer.
    mutating func linked() -> Output {
        switch state {
        case .watching:
            state = .watching(hasHeard: true)
            return Output()
        case .curing(_, .waiting), .sparing: return recovered()
        case .idle, .curing, .resigned: return Output()
        }
    }

    /// The radio itself has noticed a symptom.
    mutating func noticed(_ symptom: AdapterInfo.Symptom) -> Output {
        switch state {
        case .curing, .resigned: Output()
        case .idle, .watching, .sparing: cure(symptom)
        }
    }

    /// The adapter is on again after it was off or absent: the fault may be gone.
    mutating func adapterReturned() -> Output {
        guard case .resigned = state else { return Output() }
        state = .idle
        return Output()
    }

    // MARK: - Results of steps

    /// A step has ended; `succeeded` says whether it could be taken.
    ///
    /// - Parameter isOverruled: whether the program has switched the adapter off meanwhile: a further step would switch
    ///   it on.
    mutating func stepEnded(succeeded: Bool, isOverruled: Bool = false) -> Output {
        guard case .curing(let symptom, .underWay) = state else { return Output() }
        if isOverruled { return leaveOff() }
        guard succeeded else { return next(symptom, Output()) }
        // Without a scan, the answers show that the adapter works.
        if !isScanning || !symptom.isAboutHearing { return recovered() }
        state = .curing(symptom, .waiting)
        return Output(timers: [.start(.patience, plan.patience)])
    }

    /// - Parameters:
    ///   - besideLinks: whether the adapter has links, whoever made them.
    ///   - isOff: whether it is off: after a step that was taken, somebody has switched it off since, and a further
    ///     step would switch it on.
    mutating func timerFired(_ id: TimerID, besideLinks: Bool = false, isOff: Bool = false) -> Output {
        switch (id, state) {
        case (.silence, .watching(hasHeard: true)):
            state = .watching(hasHeard: false)
            return Output(timers: [.start(.silence, plan.silence)])
        case (.silence, .watching(hasHeard: false)):
            return cure(.deaf(plan.silence), besideLinks: besideLinks)
        case (.patience, .curing(_, .waiting)) where isOff: return leaveOff()
        case (.patience, .curing(let symptom, .waiting)):
            return next(symptom, Output(), besideLinks: besideLinks)
        case (.patience, .sparing(let symptom, let left)) where besideLinks && left > 1:
            return spare(symptom, Output(), left: left - 1)
        case (.patience, .sparing(let symptom, _)):
            return next(symptom, Output())
        case (.rest, .watching), (.rest, .idle), (.rest, .resigned):
            (place, taken) = (0, 0)
            return Output()
        default:
            return Output()
        }
    }

    // MARK: -

    private mutating func cure(_ symptom: AdapterInfo.Symptom, besideLinks: Bool = false) -> Output {
        var output = Output(reports: [.noticed(symptom)])
        switch state {
        case .watching: output.timers.append(.cancel(.silence))
        case .sparing: output.timers.append(.cancel(.patience))
        case .idle, .curing, .resigned: break
        }
        output.timers.append(.cancel(.rest))
        return next(symptom, output, besideLinks: besideLinks)
    }

    /// - Parameter besideLinks: whether there are links, which were not spared yet.
    private mutating func next(
        _ symptom: AdapterInfo.Symptom,
        _ output: Output,
        besideLinks: Bool = false
    ) -> Output {
        var output = output
        while place < plan.steps.count {
            let step = plan.steps[place]
            if besideLinks, step.endsLinks, case .deaf = symptom { return spare(symptom, output, left: Self.spared) }
            place += 1
            // A controller that doesn't answer can't start a scan either, and no scan ends an attempt that is kept.
            if step == .restartScan, !symptom.isAboutHearing || !isScanning { continue }
            taken += 1
            state = .curing(symptom, .underWay)
            output.step = step
            output.reports.append(.trying(step, number: taken))
            return output
        }
        state = .resigned
        output.reports.append(.unresolved(symptom, after: taken))
        output.timers.append(.start(.rest, plan.rest))
        return output
    }

    private mutating func spare(_ symptom: AdapterInfo.Symptom, _ output: Output, left: Int) -> Output {
        var output = output
        state = .sparing(symptom, left: left)
        output.timers.append(.start(.patience, plan.silence))
        return output
    }

    /// The adapter is off as somebody wishes.
    private mutating func leaveOff() -> Output {
        state = .idle
        return Output(timers: [.start(.rest, plan.rest)], endsScan: true)
    }

    private mutating func recovered() -> Output {
        var output = Output(timers: [.cancel(.patience)], reports: [.recovered(after: taken)])
        if isScanning {
            state = .watching(hasHeard: true)
            output.timers.append(.start(.silence, plan.silence))
        } else {
            state = .idle
        }
        output.timers.append(.start(.rest, plan.rest))
        return output
    }
}

extension RecoveryPlan.Step {
    fileprivate var endsLinks: Bool {
        switch self {
        case .restartScan: false
        case .powerCycle, .reset: true
        }
    }
}

extension AdapterInfo.Symptom {
    /// Whether a reception proves that the symptom is gone.
    var isAboutHearing: Bool {
        switch self {
        case .deaf, .scanWithoutEnd: true
        case .unanswered, .keepsAttempt: false
        }
    }
}
