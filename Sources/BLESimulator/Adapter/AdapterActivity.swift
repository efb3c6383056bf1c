public import BLEProtocol

/// The activities of a simulated adapter, for a test to assert that nothing was left behind.
public struct AdapterActivity: Hashable, Sendable {
    /// Whether a scan is under way.
    public var isScanning = false

    /// How many advertisements were started and have not ended; an advertisement pauses while a central is connected.
    public var advertisementCount = 0

    /// How many listeners accept links.
    public var listenerCount = 0

    /// The peers that it is trying to connect to, in the order of the attempts.
    public var connecting: [BluetoothAddress] = []

    /// The peers that it has a link with, in either role, in the order of the links.
    public var links: [BluetoothAddress] = []

    /// Whether nothing is under way.
    public var isIdle: Bool { self == AdapterActivity() }
}
