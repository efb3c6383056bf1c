import BLEProtocol

/// Keeps a link within the limits of its parameters, whatever the peripheral requests. A value without I/O.
///
/// ```
///                      beyond the limits                      beyond again, or no answer
///   (within) ────────────────────────────► (correcting) ─────────────────────────────────► (resigned)
///      ▲  │                                  │      ▲ │                                        │
///      │  └─ a minute: counts anew           │      └─┘ corrections are left                   │
///      └─────────── within the limits ───────┴─────────────────────────────────────────────────┘
/// ```
struct LimitMachine {
    /// Instructions to the driver.
    struct Output: Equatable {
        enum Timer: Equatable {
            case start(Duration)
            case cancel
        }

        /// Request the parameters again.
        var request: ConnectionParameters?
        /// Restart or cancel the only timer.
        var timer: Timer?
    }

    private enum State: Equatable {
        /// Can transition to: correcting, resigned.
        case within
        /// The parameters have been requested. Can transition to: within, itself, resigned.
        case correcting
        /// The peripheral insists, or the radio can't make the request. Can transition to: within.
        case resigned
    }

    /// The time within the limits after which the count of corrections restarts.
    static let settled = Duration.seconds(60)
    /// How long a correction may take: it happens at one of the next connection events, which may be 4 s or more apart.
    static let patience = Duration.seconds(30)

    private struct Times: Equatable {
        var interval: Duration?
        var latency: Int?
        var supervisionTimeout: Duration?

        init(_ conditions: LinkConditions) {
            interval = conditions.interval
            latency = conditions.latency
            supervisionTimeout = conditions.supervisionTimeout
        }
    }

    let parameters: ConnectionParameters
    private let limits: ConnectionParameters.Limits
    private var state = State.within
    private var corrections = 0
    private var judged: Times?
    private var error: BLEError?

    /// - Returns: `nil` if the parameters have no limits.
    init?(_ parameters: ConnectionParameters?) {
        guard let parameters, let limits = parameters.limits else { return nil }
        self.parameters = parameters
        self.limits = limits
    }

    /// The present breach of the limits; `nil` if the link is within them.
    var breach: ConnectionParameters.LimitBreach? {
        switch state {
        case .within: nil
        case .correcting: ConnectionParameters.LimitBreach(corrections: corrections, isFinal: false)
        case .resigned: ConnectionParameters.LimitBreach(corrections: corrections, isFinal: true, error: error)
        }
    }

    /// The parameters have just been requested, and these are the conditions: they need not be within the limits yet.
    mutating func asked(_ conditions: LinkConditions) -> Output {
        judged = Times(conditions)
        guard limits.areExceeded(by: conditions) else { return Output() }
        state = .correcting
        return Output(timer: .start(Self.patience))
    }

    /// The conditions have changed.
    mutating func saw(_ conditions: LinkConditions) -> Output {
        let times = Times(conditions)
        // A change of PHY or packet length does not concern the limits.
        guard times != judged else { return Output() }
        judged = times
        guard limits.areExceeded(by: conditions) else {
            guard state != .within else { return Output() }
            state = .within
            return Output(timer: .start(Self.settled))
        }
        return state == .resigned ? Output() : correct()
    }

    /// The radio could not make the request.
    mutating func refused(_ error: BLEError) -> Output {
        guard state == .correcting else { return Output() }
        self.error = error
        state = .resigned
        return Output(timer: .cancel)
    }

    mutating func timerFired() -> Output {
        switch state {
        case .within:
            corrections = 0
            return Output()
        case .correcting: return correct()
        case .resigned: return Output()
        }
    }

    private mutating func correct() -> Output {
        guard corrections < limits.corrections else {
            state = .resigned
            error = nil
            return Output(timer: .cancel)
        }
        corrections += 1
        state = .correcting
        return Output(request: parameters, timer: .start(Self.patience))
    }
}
