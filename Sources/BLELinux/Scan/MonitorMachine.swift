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
        case waiting
        case unavailable
    }

    /// How long after a second loss it is added again.
    static let pause = Duration.seconds(1)
    /// The number of losses in a row after which it gives up.
    static let patience = 8
    /// How long it must stay before earlier losses are forgotten.
    static let calm = Duration.seconds(30)

    private var state = State.absent
    private var isWanted = false
    private var losses = 0

    /// The monitor that the kernel has, or may have.
    var handle: UInt16? {
        switch state {
        case .adding(let handle), .present(let handle): handle
        case .absent, .asking, .waiting, .unavailable: nil
        }
    }

    mutating func want() -> Output {
        isWanted = true
        guard state == .absent else { return Output() }
        return ask()
    }

    mutating func unwant() -> Output {
        isWanted = false
        switch state {
        case .present(let handle):
            state = .absent
            return Output(command: .remove(handle), timer: .cancel)
        case .waiting:
            state = .absent
            return Output(timer: .cancel)
        case .absent, .asking, .adding, .unavailable: return Output()
        }
    }

    mutating func featuresRead(_ answer: Result<ManagementReadMonitorFeatures.Response, ManagementFailure>) -> Output {
        guard state == .asking else { return Output() }
        guard isWanted else {
            state = .absent
            return Output()
        }
        switch answer {
        case .success(let features) where features.supported == 0:
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
            state = .present(handle)
            return Output(timer: losses > 0 ? .start(Self.calm) : nil, report: .present)
        case .success(let handle):
            state = .absent
            return Output(command: .remove(handle))
        case .failure(let failure): return unavailable(failure)
        }
    }

    /// A monitor was removed, this one or another; 0 stands for all.
    mutating func removed(_ handle: UInt16) -> Output {
        guard case .present(let own) = state, handle == own || handle == 0 else { return Output() }
        losses += 1
        if losses > Self.patience { return unavailable(nil) }
        if losses == 1 { return ask() }
        state = .waiting
        return Output(timer: .start(Self.pause))
    }

    mutating func timerFired() -> Output {
        switch state {
        case .waiting: return ask()
        case .present:
            losses = 0
            return Output()
        case .absent, .asking, .adding, .unavailable: return Output()
        }
    }

    private mutating func ask() -> Output {
        state = .asking
        return Output(command: .readFeatures)
    }

    private mutating func unavailable(_ failure: ManagementFailure?) -> Output {
        state = .unavailable
        return Output(timer: .cancel, report: .unavailable(failure))
    }
}
