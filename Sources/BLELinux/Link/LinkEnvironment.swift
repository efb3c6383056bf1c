internal import BLEProtocol
internal import BLERadio

/// What a link needs from the radio that made it: everything that its socket can't do.
protocol LinkEnvironment: Sendable {
    /// Times and deadlines.
    var timeline: any Timeline { get }

    /// Makes the controller drop the connection to a peer immediately; the closure gets whether it did. `false` if that
    /// is not permitted: the kernel then drops it two seconds after the socket was closed.
    func drop(_ peer: BluetoothAddress, _ result: @escaping @Sendable (Bool) -> Void)

    /// Reads the signal strength of the connection to a peer, in dBm.
    func readRSSI(of peer: BluetoothAddress, _ result: @escaping @Sendable (Int8?) -> Void)

    /// Reads what the controller and the kernel report about the connection to a peer, as far as this program may know.
    ///
    /// - Parameter handle: the controller's number of the connection; `nil` if it isn't known.
    func readConditions(
        of peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (LinkConditions) -> Void
    )

    /// Reports each change of the connection that the controller announces, until the activity is cancelled.
    func observeConditions(handle: UInt16, _ changed: @escaping @Sendable () -> Void) -> RadioActivity

    /// Asks the kernel to change the connection to a peer.
    func request(
        _ parameters: ConnectionParameters,
        for peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    )

    /// Reports each failure of a pairing or encryption that the peer requested, until the activity is cancelled. Until
    /// then a pairing is made to fail that nobody answers, and that would end the link.
    ///
    /// - Parameter failed: gets the error; `nil` if this program pairs with the peer by itself: that tells the failure.
    func watchSecurity(
        of peer: BluetoothAddress,
        _ failed: @escaping @Sendable (BLEError?) -> Void
    ) -> RadioActivity

    /// Reports the bonds that the kernel makes with the peer though no program has begun to pair, until the activity is
    /// cancelled.
    func watchBonds(of peer: BluetoothAddress, _ made: @escaping @Sendable (Bond) -> Void) -> RadioActivity

    /// Reports when any program has made keys with the peer, or may have, until the activity is cancelled.
    func observeKeys(of peer: BluetoothAddress, _ made: @escaping @Sendable () -> Void) -> RadioActivity

    /// Pairs with a peer whose link is encrypted, for better keys.
    func pairAnew(
        with peer: BluetoothAddress,
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        _ result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity

    /// Whether the kernel has a key of a bond with the peer, as far as this program has seen.
    func hasKey(of peer: BluetoothAddress) -> Bool

    /// The level of the bond's key that the kernel certainly has for the peer; `nil` if that isn't known.
    func keyLevel(of peer: BluetoothAddress) -> LinkSecurity.Level?

    /// Whether the kernel has other keys for the peer than this program's bond with it, as far as is known.
    func hasForeignKey(of peer: BluetoothAddress) -> Bool

    /// Reads the kernel's reason for the end of the connection to a peer, once everything that it has sent by now is
    /// processed; `nil` if it has given this program none.
    func readEnd(
        ofLinkTo peer: BluetoothAddress,
        _ result: @escaping @Sendable (ManagementDisconnectReason?) -> Void
    )

    /// Whether the adapter is on now.
    var isAdapterUp: Bool { get }
}
