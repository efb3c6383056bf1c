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
        handle: UInt16?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    )

    /// Tells when the peer wanted to pair or encrypt and that failed, until the activity is cancelled.
    func watchSecurity(
        of peer: BluetoothAddress,
        _ failed: @escaping @Sendable (BLEError) -> Void
    ) -> RadioActivity

    /// Tells when keys were made with the peer, by whomsoever, until the activity is cancelled.
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

    /// How good the key of a bond with the peer is that the kernel has for certain; `nil` where that isn't known.
    func keyLevel(of peer: BluetoothAddress) -> LinkSecurity.Level?

    /// Whether the kernel has other keys for the peer than this program's bond with it, so far as can be known.
    func hasForeignKey(of peer: BluetoothAddress) -> Bool

    /// Tells what the kernel has said of the end of the connection to a peer, behind all that it has said by now; `nil` where
    /// it has said nothing to this program.
    func readEnd(
        ofLinkTo peer: BluetoothAddress,
        _ result: @escaping @Sendable (ManagementDisconnectReason?) -> Void
    )

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

    func hasForeignKey(of peer: BluetoothAddress) -> Bool { false }

    func readEnd(
        ofLinkTo peer: BluetoothAddress,
        _ result: @escaping @Sendable (ManagementDisconnectReason?) -> Void
    ) {
        result(nil)
    }

    func observeConditions(handle: UInt16, _ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        RadioActivity {}
    }

    func observeKeys(of peer: BluetoothAddress, _ made: @escaping @Sendable () -> Void) -> RadioActivity {
        RadioActivity {}
    }

    func keyLevel(of peer: BluetoothAddress) -> LinkSecurity.Level? { nil }

    func pairAnew(
        with peer: BluetoothAddress,
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        _ result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        result(.failure(.missingCapability(.networkAdministration, operation: "pair", object: "with \(peer)")))
        return RadioActivity {}
    }

    func request(
        _ parameters: ConnectionParameters,
        for peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        result(.failure(.parametersNotChanged(peer)))
    }
}
