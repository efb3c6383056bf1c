import Synchronization

/// How far a client's connection to a device is.
enum ProxyPhase: Equatable {
    /// It is being made, or waits for that.
    case beginning
    /// The client was told that it is there.
    case connected(mtu: Int)
    /// The client wants it no more.
    case ending
    /// The client was told that it is gone, or soon will be.
    case over

    /// Whether what the client asks for is done.
    var isAlive: Bool {
        switch self {
        case .beginning, .connected: true
        case .ending, .over: false
        }
    }

    /// The phase of one connection, which only goes on.
    final class Progress: Sendable {
        private let phase = Mutex(ProxyPhase.beginning)
        /// Turned off when the client has been told of the end.
        let told = Switch()

        var now: ProxyPhase { phase.withLock { $0 } }

        func connected(mtu: Int) {
            phase.withLock { if $0 == .beginning { $0 = .connected(mtu: mtu) } }
        }

        /// `false` where it is over already.
        func end() -> Bool {
            phase.withLock { phase in
                guard phase != .over else { return false }
                phase = .ending
                return true
            }
        }

        func finish() { phase.withLock { $0 = .over } }
    }
}
