internal import BLEProtocol

/// Keeps an advertisement monitor in the kernel as long as it is wanted, even if other programs remove it.
///
/// ```
///            want                features            answer
///   (absent) ─────► asking ────────────────► adding ─────────► present ── taken away ─► asking, later after a pause
///      ▲               │ the controller looks at   │ refused    │
///      │               ▼ patterns itself           ▼            │ not wanted: removed
///      │          (unavailable) ◄──────────────────┘            │
///      └──────────────────────────────────────────────────────-─┘
/// ```
/// While the kernel adds or removes another program's monitor, it is busy: then it is asked again after a pause. A
/// monitor's removal may be among events that were lost: then, after a while, the kernel is asked whether it still has
/// it.
struct MonitorMachine {
    /// What the driver is to do.
    struct Output: Equatable {
        enum Command: Equatable {
            case readFeatures
            /// With the handle that the kernel will assign, unless another program is quicker.
            case add(expecting: UInt16)
            case remove(UInt16)
        }
        enum Timer: Equatable {
            case start(Duration)
            case cancel
        }
        enum Report: Equatable {
            case present
            /// The monitor is not available; `nil`: because the controller matches patterns itself, or others keep
            /// removing it.
            case unavailable(ManagementFailure?)
        }

        var command: Command?
        var timer: Timer?
        var report: Report?
    }

    private enum State: Equatable {
        case absent
        case asking
        case adding(UInt16)
        case present(UInt16)
        /// The kernel is asked whether it still has it.
        case checking(UInt16)
        case waiting
        case unavailable
    }

    /// How long after a second loss, or while the kernel is busy, it is added again.
    static let pause = Duration.seconds(1)
    /// The number of losses in a row after which it gives up.
    static let patience = 8
    /// The number of busy answers in a row after which it gives up: another program's command may wait until a peer is
    /// connected, for which Linux 6.12 takes 20 s if nobody has set another time.
    static let busyPatience = 30
    /// How long it must stay before earlier losses are forgotten; after how long it is checked if its removal may have
    /// been missed.
    static let calm = Duration.seconds(30)

    private var state = State.absent
    private var isWanted = false
    /// Whether its scan is over; another thread may just be about to want it.
    private var isOver = false
    private var losses = 0
    /// How often the kernel was busy since it has added one.
    private var refusals = 0
    /// Whether its removal may have been missed.
    private var isInDoubt = false

    /// The monitor that the kernel has, or may have.
    var handle: UInt16? {
        switch state {
        case .adding(let handle), .present(let handle), .checking(let handle): handle
        case .absent, .asking, .waiting, .unavailable: nil
        }
    }

    /// The monitor that the kernel had when it last told of it.
    private var known: UInt16? {
        switch state {
        case .present(let handle), .checking(let handle): handle
        case .absent, .asking, .adding, .waiting, .unavailable: nil
        }
    }

    mutating func want() -> Output {
        if isOver { return Output() }
        isWanted = true
        guard state == .absent else { return Output() }
        return ask()
    }

    mutating func unwant() -> Output {
        isWanted = false
        switch state {
        case .present(let handle), .checking(let handle):
            (state, isInDoubt) = (.absent, false)
            return Output(command: .remove(handle), timer: .cancel)
        case .waiting:
            state = .absent
            return Output(timer: .cancel)
        case .absent, .asking, .adding, .unavailable: return Output()
        }
    }

    /// It is not wanted any more, whatever comes.
    mutating func end() -> Output {
        isOver = true
        return unwant()
    }

    mutating func featuresRead(_ answer: Result<ManagementReadMonitorFeatures.Response, ManagementFailure>) -> Output {
        if case .checking(let handle) = state { return checked(handle, answer) }
        guard state == .asking else { return Output() }
        guard isWanted else {
            state = .absent
            return Output()
        }
        switch answer {
        case .success(let features) where features.supported == 0:
            // The kernel would answer only that it has failed.
            guard features.handles.count < features.maximumHandles else {
                return unavailable(.status(.noResources, .addPatternsMonitor))
            }
            // The kernel assigns the lowest free one.
            let expected = (1...UInt16.max).first { !features.handles.contains($0) } ?? 0
            state = .adding(expected)
            return Output(command: .add(expecting: expected))
        // A controller that matches patterns would report only matching advertisements.
        case .success: return unavailable(nil)
        case .failure(let failure): return unavailable(failure)
        }
    }

    mutating func added(_ answer: Result<UInt16, ManagementFailure>) -> Output {
        guard case .adding = state else { return Output() }
        switch answer {
        case .success(let handle) where isWanted:
            refusals = 0
            state = .present(handle)
            return Output(timer: losses > 0 ? .start(Self.calm) : nil, report: .present)
        case .success(let handle):
            state = .absent
            return Output(command: .remove(handle))
        case .failure(.status(.busy, _)) where refusals < Self.busyPatience: return addLater()
        case .failure(let failure): return unavailable(failure)
        }
    }

    /// The kernel adds or removes one at a time, of all programs, and that may wait for a connection. Source: kernel,
    /// `net/bluetooth/mgmt.c`, `__add_adv_patterns_monitor`.
    private mutating func addLater() -> Output {
        guard isWanted else {
            state = .absent
            return Output()
        }
        refusals += 1
        state = .waiting
        return Output(timer: .start(Self.pause))
    }

    /// A monitor was removed, this one or another; 0 stands for all.
    mutating func removed(_ handle: UInt16) -> Output {
        guard let own = known, handle == own || handle == 0 else { return Output() }
        let timer: Output.Timer? = isInDoubt ? .cancel : nil
        isInDoubt = false
        losses += 1
        if losses > Self.patience { return unavailable(nil) }
        if losses == 1 { return ask(timer) }
        state = .waiting
        return Output(timer: .start(Self.pause))
    }

    /// Some of the kernel's events were lost, and the removal may be among them.
    mutating func missedEvents() -> Output {
        guard case .present = state, !isInDoubt else { return Output() }
        isInDoubt = true
        // After a removal, a timer runs already.
        return Output(timer: losses > 0 ? nil : .start(Self.calm))
    }

    mutating func timerFired() -> Output {
        switch state {
        case .waiting: return ask()
        case .present(let handle):
            losses = 0
            guard isInDoubt else { return Output() }
            (state, isInDoubt) = (.checking(handle), false)
            return Output(command: .readFeatures)
        case .absent, .asking, .adding, .checking, .unavailable: return Output()
        }
    }

    /// The kernel has told which monitors it has.
    private mutating func checked(
        _ handle: UInt16,
        _ answer: Result<ManagementReadMonitorFeatures.Response, ManagementFailure>
    ) -> Output {
        state = .present(handle)
        switch answer {
        case .success(let features): return features.handles.contains(handle) ? Output() : removed(handle)
        // The adapter is gone, and the monitor with it.
        case .failure(let failure) where failure.status != nil: return unavailable(failure)
        case .failure: return missedEvents()
        }
    }

    private mutating func ask(_ timer: Output.Timer? = nil) -> Output {
        state = .asking
        return Output(command: .readFeatures, timer: timer)
    }

    private mutating func unavailable(_ failure: ManagementFailure?) -> Output {
        state = .unavailable
        return Output(timer: .cancel, report: .unavailable(failure))
    }
}
