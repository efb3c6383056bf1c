internal import BLEProtocol

/// Keeps the kernel's discovery going as long as the program scans.
///
/// ```
///            begin            success                     ended by itself, by a connection, by another program
///   (idle) ─────────► starting ─────────► running ──────────────────────────────────────► starting
///                      │  ▲                  └── round over ──► stopping ── ended ────────► starting
///                      │  │   busy        (another program's)  ── that one ended ────────► starting
///                      │  │   └─────────►  sharing  ───────────── safety timer ──────────► starting
///            other     ▼  │ timer
///                    waiting            cancel: a discovery of our own is stopped, another program's is left alone
///
///            a turn is over, and others want theirs      timer
///   running ──────────────────────────────► resting ──────────────► starting
///      └──── a round is, and others may wait ─► yielding ────────────────▲
/// ```
/// The kernel ends each discovery after about ten seconds, and whenever a connection is made. While another program
/// discovers, the kernel answers Busy and sends its reports to every program: then these are used. It answers so, too,
/// where no program discovers and the controller disallows the command, as some do for a moment: then it is asked again
/// soon.
///
/// A controller that filters duplicates reports each device once per discovery. A lost report is missing for the rest
/// of it: Linux 6.1 drops reports while a discovery starts, and no kernel connects to a device that was reported before
/// the attempt began. So a discovery is ended and restarted after a short round; the first round is the shortest.
///
/// A discovery without rounds has a timer only once events were lost: its end may be among them.
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
            /// The radio listens, or listens again.
            case listening
            /// The scan is over; the failure says why.
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
        /// It is being ended, to begin again.
        case stopping
        case sharing
        case waiting
        /// Other programs that wait for the end of a discovery go first.
        case yielding
        /// Other programs have their turn.
        case resting
        case over
    }

    /// How long after a start that failed for a temporary reason the next one is tried.
    static let retryDelay = Duration.seconds(1)
    /// The number of such starts in a row after which it gives up.
    static let patience = 5
    /// The number of starts in a row that a busy controller is asked for so soon; then it counts as hanging, which no
    /// start ends.
    static let busyPatience = 30
    /// Longer than a discovery of any program can last, so that a missed event does not end the scan silently.
    static let missedEndDeadline = Duration.seconds(30)

    /// The first round: reports lost at the start are retried soon.
    static let firstRound = Duration.seconds(1)
    /// All other rounds.
    static let round = Duration.seconds(3)
    /// Longer than the kernel may take to end a discovery, so that a missed event does not end the scan silently.
    static let stopDeadline = Duration.seconds(30)
    /// How many rounds make a turn, ten or twelve seconds, after which others have theirs. A discovery that the kernel
    /// ends is a turn by itself.
    static let roundsOfTurn = 4
    /// How long others have their turn. bluetoothd begins its discovery five seconds after another one ends; if the
    /// kernel refuses, because one is under way, it asks again ten seconds later at the earliest. Source: BlueZ,
    /// src/adapter.c, `IDLE_DISCOV_TIMEOUT`.
    static let rest = Duration.milliseconds(6500)
    /// How long others may take to begin after each discovery. A bluetoothd that is asked to discover while one is
    /// under way begins when that ends; if this program were quicker, the kernel would refuse bluetoothd, which would
    /// report that to its client.
    static let courtesy = Duration.milliseconds(250)

    /// Whether the controller reports every advertisement: then rounds are useless.
    private var isUnfiltered = false
    /// The rounds since others had their turn.
    private var rounds = 0
    private var state = State.idle
    private var failures = 0
    /// How often the controller was busy since it has last discovered for any program.
    private var refusals = 0
    private var hasHadFirstRound = false
    /// Whether the end of a discovery without rounds may have been missed.
    private var isInDoubt = false

    /// Whether a timer runs while a discovery does.
    private var hasTimer: Bool { !isUnfiltered || isInDoubt }

    /// Whether another program's discovery is being used.
    var isSharing: Bool { state == .sharing }

    /// Whether this scan rests, so that others can discover.
    var isResting: Bool { state == .resting }

    /// - Parameter isUnfiltered: whether the controller reports every advertisement, as it does beside a monitor.
    mutating func begin(isUnfiltered: Bool = false) -> Output {
        guard state == .idle else { return Output() }
        self.isUnfiltered = isUnfiltered
        state = .starting
        return Output(command: .start)
    }

    /// The scan has no monitor, or no longer: the controller reports each device once per discovery.
    mutating func lacksMonitor() -> Output {
        if state == .idle { return begin() }
        guard isUnfiltered else { return Output() }
        (isUnfiltered, isInDoubt) = (false, false)
        // The other states lead to a start, whose answer begins a round.
        return state == .running ? Output(timer: .start(Self.round)) : Output()
    }

    /// The kernel has answered a start.
    ///
    /// - Parameter isShared: whether another program discovers, if the answer is Busy. If none does, the controller is
    ///   busy.
    mutating func startAnswered(_ failure: ManagementFailure?, isShared: Bool = true) -> Output {
        if state == .startingInVain {
            state = .over
            return Output(command: failure == nil ? .stop : nil)
        }
        guard state == .starting else { return Output() }
        isInDoubt = false
        guard let failure else {
            state = .running
            (failures, refusals) = (0, 0)
            defer { hasHadFirstRound = true }
            let round = hasHadFirstRound ? Self.round : Self.firstRound
            return Output(timer: isUnfiltered ? nil : .start(round), report: .listening)
        }
        if failure.status == .busy { return startFoundBusy(isShared: isShared) }
        failures += 1
        if !Self.isPassing(failure) || failures >= Self.patience {
            state = .over
            return Output(report: .failed(failure))
        }
        state = .waiting
        return Output(timer: .start(Self.retryDelay))
    }

    /// Another program has its turn now, or the controller can't discover. That is no failure: a controller that hangs
    /// looks deaf, which is for a recovery to end.
    private mutating func startFoundBusy(isShared: Bool) -> Output {
        (failures, rounds) = (0, 0)
        refusals = isShared ? 0 : refusals + 1
        guard isShared || refusals > Self.busyPatience else {
            state = .waiting
            return Output(timer: .start(Self.retryDelay), report: .listening)
        }
        state = .sharing
        return Output(timer: .start(Self.missedEndDeadline), report: .listening)
    }

    /// A discovery of any program has ended.
    ///
    /// - Parameter others: whether another program may be waiting for its turn.
    mutating func discoveryEnded(beside others: Bool = false) -> Output {
        switch state {
        case .running, .stopping:
            rounds += 1
            let timer: Output.Timer? = hasTimer ? .cancel : nil
            isInDoubt = false
            guard others, isUnfiltered || rounds >= Self.roundsOfTurn else {
                state = others ? .yielding : .starting
                return others ? Output(timer: .start(Self.courtesy)) : Output(command: .start, timer: timer)
            }
            rounds = 0
            state = .resting
            return Output(timer: .start(Self.rest))
        case .sharing:
            state = .starting
            return Output(command: .start, timer: .cancel)
        case .idle, .starting, .startingInVain, .waiting, .yielding, .resting, .over:
            // The end of another program's discovery, which the pending answer takes into account.
            return Output()
        }
    }

    /// Some of the kernel's events were lost, and the end of a discovery may be among them. Repeated losses neither
    /// postpone the deadline nor end the discovery each time.
    mutating func missedEvents() -> Output {
        guard state == .running, !hasTimer else { return Output() }
        isInDoubt = true
        return Output(timer: .start(Self.missedEndDeadline))
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
        case .waiting, .stopping, .sharing, .yielding, .resting:
            state = .starting
            return Output(command: .start)
        case .idle, .starting, .startingInVain, .over:
            return Output()
        }
    }

    /// The scan is cancelled; nothing is reported from now on.
    mutating func cancel() -> Output {
        switch state {
        case .running:
            state = .over
            return Output(command: .stop, timer: hasTimer ? .cancel : nil)
        case .starting, .startingInVain:
            state = .startingInVain
            return Output()
        case .stopping, .sharing, .waiting, .yielding, .resting:
            state = .over
            return Output(timer: .cancel)
        case .idle, .over:
            state = .over
            return Output()
        }
    }

    /// Whether the same command may succeed a moment later: the controller is busy with a connection, or was slow to
    /// answer the kernel, which reports that as "Authentication Failed".
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
