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

    /// What the controller and the kernel tell of the connection to a peer, as far as this program may know.
    ///
    /// - Parameter handle: the controller's number of the connection; `nil` where it isn't known.
    func readConditions(
        of peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (LinkConditions) -> Void
    )

    /// Tells when the controller says that the connection is another now, until the activity is cancelled.
    func observeConditions(handle: UInt16, _ changed: @escaping @Sendable () -> Void) -> RadioActivity

    /// Asks the kernel to change the connection to a peer.
    func request(
        _ parameters: ConnectionParameters,
        for peer: BluetoothAddress,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    )

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

// What is known where there is no controller.
extension LinkEnvironment {
    func readConditions(
        of peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (LinkConditions) -> Void
    ) {
        result(LinkConditions())
    }

    func observeConditions(handle: UInt16, _ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        RadioActivity {}
    }

    func request(
        _ parameters: ConnectionParameters,
        for peer: BluetoothAddress,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        result(.failure(.parametersNotChanged(peer)))
    }
}
