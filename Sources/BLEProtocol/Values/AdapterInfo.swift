/// An adapter: its identity and whether it can be used.
public struct AdapterInfo: Hashable, Sendable {
    /// The system's name for it: `hci0`; for joined adapters, the names of all of them: `hci0+hci1`.
    public var name: String

    /// Its own address; `nil` while it is absent, and for joined adapters.
    public var address: BluetoothAddress?

    /// Whether it can be used.
    public var state: AdapterInfo.State

    /// Describes an adapter.
    public init(name: String, address: BluetoothAddress?, state: AdapterInfo.State) {
        self.name = name
        self.address = address
        self.state = state
    }
}
