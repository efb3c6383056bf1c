public import BLEProtocol

extension Peripheral {
    /// How a peripheral is connected to this central.
    public enum ConnectionState: Hashable, Sendable {
        /// Not connected; with the reason for the end of the last link, if there was one.
        case disconnected(DisconnectReason?)
        /// An attempt to connect is under way.
        case connecting
        /// The link is up, and the MTU has been negotiated.
        case connected
        /// This side is closing the link.
        case disconnecting
    }
}

extension Peripheral.ConnectionState: CustomStringConvertible {
    /// The state in words: `disconnected: closed by the peer`.
    public var description: String {
        switch self {
        case .disconnected(nil): "disconnected"
        case .disconnected(let reason?): "disconnected: \(reason)"
        case .connecting: "connecting"
        case .connected: "connected"
        case .disconnecting: "disconnecting"
        }
    }
}

extension Peripheral.ConnectionState {
    /// The states that lead here from no connection, this one included.
    var sinceDisconnected: [Peripheral.ConnectionState] {
        switch self {
        case .disconnected: []
        case .connecting: [.connecting]
        case .connected: [.connecting, .connected]
        case .disconnecting: [.connecting, .connected, .disconnecting]
        }
    }
}
