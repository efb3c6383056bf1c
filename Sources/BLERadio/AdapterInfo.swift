public import BLEProtocol

/// Whether an adapter can be used, and why not.
public enum AdapterState: String, Hashable, Sendable, CaseIterable {
    /// There is no such adapter; it may yet be plugged in.
    case absent
    /// It is there, and switched off.
    case poweredOff
    /// A switch on the machine or rfkill blocks it.
    case blocked
    /// It is ready.
    case poweredOn
}

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
