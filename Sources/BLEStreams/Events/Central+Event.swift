public import BLEProtocol

extension Central {
    /// An event of a central; see ``EventHandler``.
    ///
    /// It names operations, characteristics and addresses, never values.
    public struct Event: Sendable {
        /// The kind of the event.
        public enum Kind: Sendable {
            /// A link was made, and can be used; with the time that the first caller has waited for it.
            case connected(after: Duration)
            /// A caller got no link; with the time that it has waited.
            case connectFailed(BLEError, after: Duration)
            /// A link has ended; with the time that it was up. One that was lost before it could be used has an end
            /// without ``connected(after:)``: to know who has a link, keep the peripherals, not their number.
            case disconnected(DisconnectReason, after: Duration)
            /// An operation, `read` or `write`, has ended; `took` is its round trip plus the wait for its turn.
            case operation(String, took: Duration, error: BLEError?)
            /// The number of notifications and indications that have arrived.
            case values(Int)
            /// The number of PDUs that were dropped before they reached the library.
            case dropped(Int)
            /// The signal strength of a link in dBm, as it was read.
            case signal(Int)
            /// The state of a session has changed.
            case session(SessionState)
            /// A session has its peripheral again; with the time since it was lost.
            case reconnected(after: Duration)
            /// The number of commands in a queue, including running ones.
            case queue(Int)
            /// An adapter doesn't work, or is being recovered.
            case adapter(AdapterTrouble)
        }

        /// The importance of an event, in ascending order. Normal work causes no events at `info` and above.
        public enum Level: Hashable, Sendable, Comparable, CaseIterable {
            /// Single operations and batches of values.
            case trace
            /// Links, and states of sessions.
            case debug
            /// No event has this level.
            case info
            /// A problem that the library handles itself: a lost link, a failed attempt.
            case notice
            /// A problem that loses values, or may need attention.
            case warning
            /// The library has given up.
            case error
        }

        /// The kind of the event.
        public let kind: Kind

        /// The peripheral; `nil` for an adapter, and for a session that has found none yet.
        public let peripheral: BluetoothAddress?

        /// The object, if there is one besides the peripheral: `2A19` for an operation.
        public let object: String

        /// When it was reported.
        public let time: ReceptionTime

        /// Makes an event, for tests of a handler.
        public init(_ kind: Kind, of peripheral: BluetoothAddress? = nil, object: String = "", at time: ReceptionTime) {
            self.kind = kind
            self.peripheral = peripheral
            self.object = object
            self.time = time
        }
    }
}

extension Central.Event {
    /// The importance of the event.
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
