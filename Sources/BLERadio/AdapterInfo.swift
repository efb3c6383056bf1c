public import BLEProtocol

/// An adapter: which one it is and whether it can be used.
public struct AdapterInfo: Hashable, Sendable {
    /// The system's name for it: `hci0`.
    public var name: String

    /// Its own address; `nil` while it is absent.
    public var address: BluetoothAddress?

    /// Whether it can be used.
    public var state: AdapterState

    /// Describes an adapter.
    public init(name: String, address: BluetoothAddress?, state: AdapterState) {
        self.name = name
        self.address = address
        self.state = state
    }
}
