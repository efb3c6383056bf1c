internal import BLEProtocol

/// Keeps the kernel's discovery going for as long as somebody scans.
///
/// ```
///            begin            success                     ended by itself, by a connection, by another program
///   (idle) ─────────► starting ─────────► running ──────────────────────────────────────► starting
///                      │  ▲                  └── round over ──► stopping ── ended ────────► starting
///                      │  │   busy        (another program's)  ── that one ended ────────► starting
///                      │  │   └─────────►  sharing  ───────────── safety timer ──────────► starting
///            other     ▼  │ timer
///                    waiting            cancel: a discovery of our own is stopped, another program's is left alone
/// ```
/// The kernel ends each discovery after about ten seconds, and whenever a connection is made. While another program
/// discovers, the kernel answers Busy and reports to everybody: then its reports are used.
///
/// A controller that filters duplicates reports each device once in a discovery. What of that goes astray is missing for
/// the rest of it: Linux 6.1 drops reports while a discovery starts, and no kernel connects to a device that was reported
/// before somebody wanted to. So a discovery is ended and begun anew after a short round, the first one soonest.
struct DiscoveryMachine {
    /// What the driver is to do.
    struct Output: Equatable {
        enum Command: Equatable {
            case start
            case stop
        }
        enum Timer: Equatable {
            case start(Duration)
            case cancel
        }
        enum Report: Equatable {
            /// The radio listens, or does so again.
            case listening
            /// It is over; the failure says why.
            case failed(ManagementFailure)
        }

        var command: Command?
        var timer: Timer?
        var report: Report?
    }

    private enum State: Equatable {
        case idle
        case starting
        /// Cancelled while the answer to a start is awaited.
        case startingInVain
        case running
        /// Being ended, to begin anew.
        case stopping
        case sharing
        case waiting
        case over
    }

    /// How long after a start that failed for a passing reason the next one is tried.
    static let retryDelay = Duration.seconds(1)
    /// How many such starts in a row are too many.
    static let patience = 5
    /// Longer than another program's discovery can last, so that a missed event does not end the scan in silence.
    static let sharingDeadline = Duration.seconds(30)

    /// The first round: what was lost at the start is looked for again soon.
    static let firstRound = Duration.seconds(1)
    /// All others.
    static let round = Duration.seconds(3)
    /// Longer than the kernel may take to end a discovery, so that a missed event does not end the scan in silence.
    static let stopDeadline = Duration.seconds(30)

    /// Whether the controller reports every advertisement: then there is no use in rounds.
    private let isUnfiltered: Bool
    private var state = State.idle
    private var failures = 0
    private var hasHadFirstRound = false

    init(isUnfiltered: Bool = false) { self.isUnfiltered = isUnfiltered }

    /// Whether another program's discovery is being used.
    var isSharing: Bool { state == .sharing }

    mutating func begin() -> Output {
        guard state == .idle else { return Output() }
        state = .starting
        return Output(command: .start)
    }

    /// The kernel has answered a start.
    mutating func startAnswered(_ failure: ManagementFailure?) -> Output {
        if state == .startingInVain {
            state = .over
            return Output(command: failure == nil ? .stop : nil)
        }
        guard state == .starting else { return Output() }
        guard let failure else {
            state = .running
            failures = 0
            defer { hasHadFirstRound = true }
            let round = hasHadFirstRound ? Self.round : Self.firstRound
            return Output(timer: isUnfiltered ? nil : .start(round), report: .listening)
        }
        if failure.status == .busy {
            state = .sharing
            failures = 0
            return Output(timer: .start(Self.sharingDeadline), report: .listening)
        }
        failures += 1
        if !Self.isPassing(failure) || failures >= Self.patience {
            state = .over
            return Output(report: .failed(failure))
        }
        state = .waiting
        return Output(timer: .start(Self.retryDelay))
    }

    /// A discovery of any program has ended.
    mutating func discoveryEnded() -> Output {
        switch state {
        case .running where isUnfiltered:
            state = .starting
            return Output(command: .start)
        case .running, .stopping, .sharing:
            state = .starting
            return Output(command: .start, timer: .cancel)
        case .idle, .starting, .startingInVain, .waiting, .over:
            // The end of another program's discovery, of which the answer to come knows.
            return Output()
        }
    }

    /// The kernel has not ended the discovery at the end of a round: it was over already, or the kernel can't.
    mutating func stopFailed() -> Output {
        guard state == .stopping else { return Output() }
        state = .starting
        return Output(command: .start, timer: .cancel)
    }

    mutating func timerFired() -> Output {
        switch state {
        case .running:
            state = .stopping
            return Output(command: .stop, timer: .start(Self.stopDeadline))
        case .waiting, .stopping, .sharing:
            state = .starting
            return Output(command: .start)
        case .idle, .starting, .startingInVain, .over:
            return Output()
        }
    }

    /// Nobody scans any more; nothing is reported from now on.
    mutating func cancel() -> Output {
        switch state {
        case .running:
            state = .over
            return Output(command: .stop, timer: isUnfiltered ? nil : .cancel)
        case .starting, .startingInVain:
            state = .startingInVain
            return Output()
        case .stopping, .sharing, .waiting:
            state = .over
            return Output(timer: .cancel)
        case .idle, .over:
            state = .over
            return Output()
        }
    }

    /// Whether the same command may succeed a moment later: the controller is occupied with a connection, or was slow to
    /// answer the kernel, which calls that "Authentication Failed".
    private static func isPassing(_ failure: ManagementFailure) -> Bool {
        switch failure {
        case .status(.failed, _), .status(.timeout, _), .status(.noResources, _), .status(.cancelled, _),
            .status(.connectFailed, _), .status(.authenticationFailed, _), .timedOut:
            true
        default:
            false
        }
    }
}
