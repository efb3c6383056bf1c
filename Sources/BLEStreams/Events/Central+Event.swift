public import BLEProtocol

extension Central {
    /// Something that has happened on a central; see ``EventHandler``.
    ///
    /// It names operations, characteristics and addresses, never values.
    public struct Event: Sendable {
        /// What has happened.
        public enum Kind: Sendable {
            /// A link has been made, and whoever wanted it first has waited for so long.
            case connected(after: Duration)
            /// Somebody has got no link, after waiting for so long.
            case connectFailed(BLEError, after: Duration)
            /// A link is over, which was up for so long.
            case disconnected(DisconnectReason, after: Duration)
            /// An operation, `read` or `write`, has ended, with its round trip and the time for which it waited for its turn.
            case operation(String, took: Duration, error: BLEError?)
            /// So many notifications and indications have come.
            case values(Int)
            /// So many PDUs were dropped before the library could have them.
            case dropped(Int)
            /// The signal strength of a link in dBm, when it was read.
            case signal(Int)
            /// A session has another state.
            case session(SessionState)
            /// A session has its peripheral again, so long after it was lost.
            case reconnected(after: Duration)
            /// So many commands are in a queue, with those that run.
            case queue(Int)
            /// An adapter doesn't work, or is being recovered.
            case adapter(AdapterTrouble)
        }

        /// How much an event matters. Normal work tells nothing at `info` and above.
        public enum Level: Int, Hashable, Sendable, Comparable, CaseIterable {
            /// Each operation, each batch of values.
            case trace
            /// Links, states of sessions.
            case debug
            /// Nothing is told at this level.
            case info
            /// What the library mends by itself: a lost link, an attempt that failed.
            case notice
            /// What costs values, or may need somebody.
            case warning
            /// What the library has given up.
            case error

            /// Whether the left one matters less.
            public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
        }

        /// What has happened.
        public let kind: Kind

        /// Whom it is about; `nil` for an adapter, and a session that has found nobody yet.
        public let peripheral: BluetoothAddress?

        /// What it is about, where that is more than the peripheral: `2A19` for an operation.
        public let object: String

        /// When it was told.
        public let time: ReceptionTime

        /// Makes an event, for the test of a handler.
        public init(_ kind: Kind, of peripheral: BluetoothAddress? = nil, object: String = "", at time: ReceptionTime) {
            self.kind = kind
            self.peripheral = peripheral
            self.object = object
            self.time = time
        }
    }
}

extension Central.Event {
    /// How much it matters.
    public var level: Level {
        switch kind {
        case .operation, .values, .signal, .queue: .trace
        case .connected: .debug
        case .connectFailed, .reconnected: .notice
        case .disconnected(let reason, _): reason.kind == .closedLocally ? .debug : .notice
        case .dropped: .warning
        case .session(.failed): .error
        case .session(.disconnected(.waitingToReconnect)): .notice
        case .session: .debug
        case .adapter(.recovered): .notice
        case .adapter(.ofOne(_, .recovered)): .notice
        case .adapter: .warning
        }
    }
}

extension Central.Event: CustomStringConvertible {
    /// The event in words, without its time: `C4:F2:17:1A:1D:BB read 2A19: 0.031 seconds`.
    public var description: String {
        (peripheral.map { "\($0) " } ?? "") + words
    }

    private var words: String {
        switch kind {
        case .connected(let time): "connected after \(time)"
        case .connectFailed(let error, let time): "not connected after \(time): \(error)"
        case .disconnected(let reason, let time): "disconnected after \(time): \(reason)"
        case .operation(let name, let time, let error):
            "\(name)\(object.isEmpty ? "" : " \(object)"): \(time)" + (error.map { ", failed: \($0)" } ?? "")
        case .values(let count): "\(count) \(count == 1 ? "value" : "values")"
        case .dropped(let count): "\(count) \(count == 1 ? "PDU was" : "PDUs were") dropped"
        case .signal(let rssi): "\(rssi) dBm"
        case .session(let state): "session: \(state)"
        case .reconnected(let time): "connected again after \(time)"
        case .queue(let depth): "\(depth) \(depth == 1 ? "command" : "commands")"
        case .adapter(let trouble): "\(trouble)"
        }
    }
}
