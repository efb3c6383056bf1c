internal import BLEProtocol

/// The steps after a reset was requested: the adapter goes away, comes back, and is switched on again. A value without
/// I/O.
///
/// ```
///               done                   there, and off               on
///   (ordered) ────────► (awaiting) ─────────────────► (switching) ─────► (over)
///       │                │      ▲                         │                ▲
///       │                │      └──── (pausing) ◄─────────┘ not yet        │
///       └ refused, stuck ┴─ too long ──────────────────────────────────────┘
/// ```
struct AdapterResetMachine {
    enum TimerID: Hashable {
        /// Fires if the adapter has not come back.
        case absence
        /// Fires when it must be switched on once more.
        case pause
    }

    enum Timer: Equatable {
        case start(TimerID, Duration)
        case cancel(TimerID)
    }

    enum End: Hashable {
        /// It is back, on or off as before.
        case back
        /// The system refused the reset.
        case refused(SystemError)
        /// The system has not finished the reset within this time.
        case stuck(Duration)
        /// It went away and did not come back within this time.
        case gone(Duration)
        /// It is back, but can't be used or can't be switched on.
        case unusable
    }

    /// What the driver is to do.
    struct Output: Equatable {
        var timers: [Timer] = []
        var switchesOn = false
        var end: End?
    }

    private enum State {
        case ordered
        /// - Parameter mustGo: whether the adapter seen now is still the old one.
        case awaiting(mustGo: Bool)
        case switching
        case pausing
        case over
    }

    /// How long the system may take to carry out the reset: the driver ends what the kernel has begun with the
    /// controller, which takes 20 s at most, while it connects.
    static let longestOrder = Duration.seconds(60)
    /// A controller whose firmware is loaded again takes some seconds.
    static let patience = Duration.seconds(20)
    /// The kernel shows an adapter a moment before it accepts commands for it.
    static let pause = Duration.milliseconds(500)

    /// Whether it was on, or was left off by mistake, and must be switched on again.
    let mustBeOn: Bool
    private var state = State.ordered
    private var adapter: AdapterInfo.State

    /// - Parameters:
    ///   - adapter: its state before the reset.
    ///   - isLeftOff: whether it is off only because it could not be switched on again.
    init(adapter: AdapterInfo.State, isLeftOff: Bool = false) {
        self.adapter = adapter
        mustBeOn = adapter == .poweredOn || isLeftOff
    }

    /// The reset is done, or refused.
    ///
    /// - Parameter error: ``SystemError/noDevice`` is not a refusal: the device came out of the reset as another one,
    ///   and is looked up again a moment later.
    mutating func ordered(_ error: SystemError?) -> Output {
        guard case .ordered = state else { return Output() }
        if let error, error != .noDevice { return end(.refused(error)) }
        state = .awaiting(mustGo: error != nil)
        var output = look()
        if output.end == nil { output.timers.append(.start(.absence, Self.patience)) }
        return output
    }

    /// The system has had its time for the reset, unless it has carried it out.
    mutating func orderIsOverdue() -> Output {
        guard case .ordered = state else { return Output() }
        return end(.stuck(Self.longestOrder))
    }

    /// Takes the adapter's new state.
    mutating func adapterIs(_ now: AdapterInfo.State) -> Output {
        adapter = now
        return look()
    }

    /// The command to switch it on has ended.
    ///
    /// - Parameter isPassing: whether it may succeed a moment later.
    mutating func switched(on isOn: Bool, isPassing: Bool) -> Output {
        guard case .switching = state else { return Output() }
        if isOn { return end(.back) }
        guard isPassing else { return end(.unusable) }
        state = .pausing
        return Output(timers: [.start(.pause, Self.pause)])
    }

    mutating func timerFired(_ id: TimerID) -> Output {
        switch (id, state) {
        case (.pause, .pausing):
            state = .awaiting(mustGo: false)
            return look()
        case (.absence, .awaiting), (.absence, .pausing), (.absence, .switching):
            if adapter == .absent { return end(.gone(Self.patience)) }
            return end(adapter == .poweredOn ? .back : .unusable)
        default:
            return Output()
        }
    }

    private mutating func look() -> Output {
        guard case .awaiting(let mustGo) = state else { return Output() }
        switch adapter {
        case .absent, .unknown, .resetting:
            state = .awaiting(mustGo: false)
            return Output()
        case .poweredOn, .poweredOff, .blocked, .unsupported, .unauthorized:
            if mustGo { return Output() }
        }
        if adapter == .poweredOn || !mustBeOn { return end(.back) }
        guard adapter == .poweredOff else { return end(.unusable) }
        state = .switching
        return Output(switchesOn: true)
    }

    private mutating func end(_ end: End) -> Output {
        state = .over
        return Output(timers: [.cancel(.absence), .cancel(.pause)], end: end)
    }
}
