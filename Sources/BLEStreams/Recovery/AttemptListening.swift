import BLEProtocol

/// Decides when to scan during connection attempts that wait in vain: the controller then reports only the awaited
/// peers, so a deaf adapter looks like an absent peripheral. A value without I/O.
///
/// ```
///          attempt             nobody heard for so long                somebody heard, or linked
///   (idle) ───────► (counting) ────────────────────────► (listening) ────────────────────────────► (counting)
///                       │                                  │     │ no attempt any more
///                       └── the same, without attempt ─────│──► (due) ── attempt ──► (listening)
///                                                          └ given up ► (quiet) ── heard, linked, or on again ──► (idle)
/// ```
/// A program that scans anyway receives enough: no scan is added, and an attempt counts beside it until it ends.
struct AttemptListening {
    /// The actions for the driver.
    struct Output: Equatable {
        enum Timer: Equatable {
            case start(Duration)
            case cancel
        }

        var timer: Timer?
        /// Whether to begin or to end listening; `nil`: neither.
        var listens: Bool?
    }

    private enum State: Equatable {
        case idle
        case counting(hasHeard: Bool)
        case due
        case listening
        /// This program may not scan, or no step is left that could help.
        case quiet
    }

    /// The largest number of known peers of each generation.
    private static let limit = 64
    /// How long a generation lasts.
    private static let memory = Duration.seconds(86_400)

    /// An awaited peer.
    private struct Awaited {
        let peer: BluetoothAddress
        var attempts: Int
    }

    /// How long attempts wait in vain before listening begins.
    let patience: Duration
    /// The identity behind a private address; the address itself if that is unknown.
    private let identity: @Sendable (BluetoothAddress) -> BluetoothAddress
    private var state = State.idle
    private var isScanning = false
    /// The awaited peers; and the peers that were received in this generation and in the one before, and not linked
    /// since. Octets identify addresses, whatever their kind. Addresses are compared by their identities of that
    /// moment: a peer may be received under one private address, awaited under another, and its key learned only
    /// afterwards.
    private var awaited: [UInt64: Awaited] = [:]
    private var known: [UInt64: BluetoothAddress] = [:]
    private var former: [UInt64: BluetoothAddress] = [:]
    /// When this generation began.
    private var begun = Duration.zero

    init(
        patience: Duration,
        identity: @escaping @Sendable (BluetoothAddress) -> BluetoothAddress = { $0 }
    ) {
        self.patience = patience
        self.identity = identity
    }

    var isListening: Bool { state == .listening }

    /// Whether it listens, and another peer than those awaited and linked was received before: one silent peer doesn't
    /// make a deaf adapter.
    var missesOthers: Bool {
        guard isListening else { return false }
        let wanted = Set(awaited.values.map { identity($0.peer).rawValue })
        let isOther: (BluetoothAddress) -> Bool = { !wanted.contains(identity($0).rawValue) }
        return known.values.contains(where: isOther) || former.values.contains(where: isOther)
    }

    // MARK: - Attempts

    mutating func began(_ peer: BluetoothAddress) -> Output {
        awaited[peer.rawValue, default: Awaited(peer: peer, attempts: 0)].attempts += 1
        switch state {
        case .idle: return count()
        // A scan that somebody else makes may end before the attempt does.
        case .due: return isScanning ? count() : listen()
        case .counting, .listening, .quiet: return Output()
        }
    }

    /// - Parameter isLinked: whether it has led to a link.
    mutating func ended(_ peer: BluetoothAddress, isLinked: Bool) -> Output {
        let left = (awaited[peer.rawValue]?.attempts ?? 1) - 1
        awaited[peer.rawValue] = left > 0 ? Awaited(peer: peer, attempts: left) : nil
        if isLinked {
            forget(peer)
            return linked()
        }
        guard isListening, awaited.isEmpty else { return Output() }
        state = .due
        return Output(listens: false)
    }

    /// Another adapter has a link to the peer, which this one may have received.
    mutating func linkedElsewhere(_ peer: BluetoothAddress) { forget(peer) }

    /// It may not advertise beside its link; if it does, it will be received again.
    private mutating func forget(_ peer: BluetoothAddress) {
        let name = identity(peer).rawValue
        known = known.filter { identity($0.value).rawValue != name }
        former = former.filter { identity($0.value).rawValue != name }
    }

    private mutating func linked() -> Output {
        guard awaited.isEmpty else { return received() }
        let last = state
        state = .idle
        switch last {
        case .idle, .due, .quiet: return Output()
        case .counting: return Output(timer: .cancel)
        case .listening: return Output(listens: false)
        }
    }

    // MARK: - Receptions

    mutating func scanStarted() { isScanning = true }

    mutating func scanStopped() { isScanning = false }

    /// Advertisements of these peers were received.
    ///
    /// Who has passed by once is not missed for ever: where others are received without it, it is forgotten within two
    /// days. While nobody is received, as by a deaf adapter, nobody is forgotten.
    mutating func heard(_ peers: [BluetoothAddress], at now: Duration) -> Output {
        if now - begun >= Self.memory { (former, known, begun) = (known, [:], now) }
        if known.count < Self.limit { for peer in peers where known[peer.rawValue] == nil { know(peer) } }
        return received()
    }

    /// An advertisement, or a link, shows that the adapter receives.
    private mutating func received() -> Output {
        switch state {
        case .idle, .counting(hasHeard: true): return Output()
        case .counting(hasHeard: false):
            state = .counting(hasHeard: true)
            return Output()
        case .due:
            state = .idle
            return Output()
        case .quiet: return count()
        case .listening:
            var output = count()
            output.listens = false
            return output
        }
    }

    private mutating func know(_ peer: BluetoothAddress) {
        // One peer's changing addresses would fill the place of others.
        let name = identity(peer)
        known[name.rawValue] = name
    }

    /// Listening is of no use: this program may not scan, or no step is left that could help.
    mutating func giveUp() -> Output {
        let last = state
        state = .quiet
        switch last {
        case .idle, .due, .quiet: return Output()
        case .counting: return Output(timer: .cancel)
        case .listening: return Output(listens: false)
        }
    }

    /// The adapter was off or absent, and is on.
    mutating func adapterReturned() -> Output { state == .quiet ? count() : Output() }

    mutating func timerFired() -> Output {
        guard case .counting(let hasHeard) = state else { return Output() }
        if awaited.isEmpty {
            state = hasHeard ? .idle : .due
            return Output()
        }
        return hasHeard || isScanning ? count() : listen()
    }

    // MARK: -

    private mutating func listen() -> Output {
        state = .listening
        return Output(listens: true)
    }

    /// Counts from now on, if a peer is awaited.
    private mutating func count() -> Output {
        state = awaited.isEmpty ? .idle : .counting(hasHeard: false)
        return Output(timer: awaited.isEmpty ? nil : .start(patience))
    }
}
