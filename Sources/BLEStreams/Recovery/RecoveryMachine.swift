import BLEProtocol
import BLERadio

/// Notices that an adapter doesn't work, and decides what to do next. A value without I/O.
///
/// ```
///            heard while scanning*           silence, or a symptom            all steps were taken
///   (idle) ─────────────────────► (watching) ─────────────────────► (curing) ─────────────────────► (resigned)
///      ▲                            │    ▲                          │     ▲                             │
///      └───── no scan any more ─────┘    └──── heard, or answered ──┘     └── patience over: next step  │
///                                        └─────────────────────── heard ────────────────────────────────┘
/// ```
/// *) Where somebody is always heard, or others were than those who are connected to, the scan's beginning is enough.
struct RecoveryMachine {
    enum TimerID: Hashable {
        /// Runs out where nothing was heard since it was started.
        case silence
        /// Runs out where a step hasn't helped.
        case patience
        /// Runs out when the adapter has been well for long enough.
        case rest
    }

    /// What the driver is to do.
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
    }

    private enum State: Equatable {
        /// Nobody scans, or nothing has been heard yet, where that may be so: silence means nothing.
        case idle
        /// Can transition to: itself, curing, idle.
        case watching(hasHeard: Bool)
        /// A step is under way, or has been taken and may help yet. Can transition to: watching, resigned, idle.
        case curing(AdapterInfo.Symptom, Phase)
        /// No step is left. Can transition to: watching, idle.
        case resigned
    }

    private enum Phase: Equatable {
        case underWay
        case waiting
    }

    let plan: RecoveryPlan
    private var state = State.idle
    private var isScanning = false
    /// The place in the plan of the step that comes next, and how many were taken, since the adapter was last well for long
    /// enough.
    private var place = 0
    private var taken = 0

    init(_ plan: RecoveryPlan) { self.plan = plan }

    /// Whether something is being done about the adapter, or will be: who needs it does well to wait.
    var isCuring: Bool { if case .curing = state { true } else { false } }

    /// Whether what is being done about it is under way at this moment.
    var isStepUnderWay: Bool { if case .curing(_, .underWay) = state { true } else { false } }

    // MARK: - What is seen

    /// - Parameter missesOthers: whether others were heard before than those who are listened for.
    mutating func scanStarted(missesOthers: Bool = false) -> Output {
        isScanning = true
        guard plan.hearsAlways || missesOthers, case .idle = state else { return Output() }
        state = .watching(hasHeard: false)
        return Output(timers: [.start(.silence, plan.silence)])
    }

    /// Nobody scans any more. A cure that is under way goes on.
    mutating func scanStopped() -> Output {
        isScanning = false
        switch state {
        case .watching:
            state = .idle
            return Output(timers: [.cancel(.silence)])
        case .resigned:
            state = .idle
            return Output()
        case .curing(_, .waiting):
            // Who would hear whether it helped?
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
        case .idle, .resigned:
            state = .watching(hasHeard: true)
            return Output(timers: [.start(.silence, plan.silence)])
        case .curing(_, .waiting):
            return recovered()
        }
    }

    /// A link was made: the adapter has heard the peer.
    mutating func linked() -> Output {
        switch state {
        case .watching:
            state = .watching(hasHeard: true)
            return Output()
        case .curing(_, .waiting): return recovered()
        case .idle, .curing, .resigned: return Output()
        }
    }

    /// The radio has seen by itself that something is wrong.
    mutating func noticed(_ symptom: AdapterInfo.Symptom) -> Output {
        switch state {
        case .curing, .resigned: Output()
        case .idle, .watching: cure(symptom)
        }
    }

    /// The adapter is on again after it was off, or away: what was wrong with it may have passed.
    mutating func adapterReturned() -> Output {
        guard case .resigned = state else { return Output() }
        state = .idle
        return Output()
    }

    // MARK: - What comes of steps

    /// A step is over; whether it could be taken.
    mutating func stepEnded(succeeded: Bool) -> Output {
        guard case .curing(let symptom, .underWay) = state else { return Output() }
        guard succeeded else { return next(symptom, Output()) }
        // Who doesn't scan sees by the answers that it is well.
        if !isScanning || !symptom.isAboutHearing { return recovered() }
        state = .curing(symptom, .waiting)
        return Output(timers: [.start(.patience, plan.patience)])
    }

    mutating func timerFired(_ id: TimerID) -> Output {
        switch (id, state) {
        case (.silence, .watching(hasHeard: true)):
            state = .watching(hasHeard: false)
            return Output(timers: [.start(.silence, plan.silence)])
        case (.silence, .watching(hasHeard: false)):
            return cure(.deaf(plan.silence))
        case (.patience, .curing(let symptom, .waiting)):
            return next(symptom, Output())
        case (.rest, .watching), (.rest, .idle), (.rest, .resigned):
            (place, taken) = (0, 0)
            return Output()
        default:
            return Output()
        }
    }

    // MARK: -

    private mutating func cure(_ symptom: AdapterInfo.Symptom) -> Output {
        var output = Output(reports: [.noticed(symptom)])
        if case .watching = state { output.timers.append(.cancel(.silence)) }
        output.timers.append(.cancel(.rest))
        return next(symptom, output)
    }

    private mutating func next(_ symptom: AdapterInfo.Symptom, _ output: Output) -> Output {
        var output = output
        while place < plan.steps.count {
            let step = plan.steps[place]
            place += 1
            // A controller that doesn't answer can't be told to scan either.
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

extension AdapterInfo.Symptom {
    /// Whether hearing something proves that it has passed.
    var isAboutHearing: Bool {
        switch self {
        case .deaf, .scanWithoutEnd: true
        case .unanswered: false
        }
    }
}
