import Synchronization

/// The phase of a client's connection to a device.
enum ProxyPhase: Equatable {
    /// It is being made, or waits for that.
    case beginning
    /// The client was told that the connection exists.
    case connected(mtu: Int)
    /// The client no longer wants it.
    case ending
    /// The client was told that it has ended, or soon will be.
    case over

    /// Whether the client's requests are carried out.
    var isAlive: Bool {
        switch self {
        case .beginning, .connected: true
        case .ending, .over: false
        }
    }

    /// The phase of one connection, which only moves forward.
    final class Progress: Sendable {
        private let phase = Mutex(ProxyPhase.beginning)
        /// Turned off when the client has been told of the end.
        let told = Switch()

        var now: ProxyPhase { phase.withLock { $0 } }

        func connected(mtu: Int) {
            phase.withLock { if $0 == .beginning { $0 = .connected(mtu: mtu) } }
        }

        /// `false` if it is already over.
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
