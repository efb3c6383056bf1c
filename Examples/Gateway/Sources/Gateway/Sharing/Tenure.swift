import BLEStreams
import Leases

/// A peripheral of the configuration that this gateway holds.
struct Tenure: Hashable, Sendable {
    /// What the configuration says about it.
    var peripheral: Configuration.Peripheral
    /// The address by which it was heard.
    var address: BluetoothAddress

    /// Its name in the leases.
    var id: PeripheralID { PeripheralID(rawValue: address.rawValue) }
}

/// How many leases a gateway has, and has had.
struct LeaseCounts: Hashable, Sendable {
    /// Those that it holds.
    var held = 0
    /// How often it began to hold one.
    var gained = 0
    /// How often it stopped holding one, whatever the reason.
    var lost = 0
    /// How often it released one because it could not connect.
    var unreachable = 0
    /// Messages that were dropped, because the lease was over when they were to be published.
    var fenced = 0
    /// Peripherals of which it follows the lease.
    var followed = 0
    /// Whether the broker of the leases is there.
    var isConnected = false
}
