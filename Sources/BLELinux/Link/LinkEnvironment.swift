internal import BLEProtocol
internal import BLERadio

/// What a link asks of the radio that made it: all that its socket can't do.
protocol LinkEnvironment: Sendable {
    /// Times and deadlines.
    var timeline: any Timeline { get }

    /// Tells the controller to drop the connection to a peer at once; the closure says whether it did. `false` where
    /// that is not permitted: the kernel then drops it two seconds after the socket has been closed.
    func drop(_ peer: BluetoothAddress, _ result: @escaping @Sendable (Bool) -> Void)

    /// Asks for the signal strength of the connection to a peer, in dBm.
    func readRSSI(of peer: BluetoothAddress, _ result: @escaping @Sendable (Int8?) -> Void)

    /// Tells when the peer wanted to pair or encrypt and that failed, until the activity is cancelled.
    func watchSecurity(
        of peer: BluetoothAddress,
        _ failed: @escaping @Sendable (BLEError) -> Void
    ) -> RadioActivity

    /// Whether the kernel has a key of a bond with the peer, as far as this program has seen.
    func hasKey(of peer: BluetoothAddress) -> Bool

    /// Whether the adapter is on at this moment.
    var isAdapterUp: Bool { get }
}
