package import BLEProtocol
package import BLERadio

extension EventLoop {
    /// A link over one end of a socket pair, for programs that measure or test without a controller.
    ///
    /// - Parameter rawDescriptor: a connected, non-blocking `SOCK_SEQPACKET` socket; the link closes it.
    package func link(
        takingOver rawDescriptor: Int32,
        peer: BluetoothAddress,
        timeline: any Timeline
    ) -> any ATTLink {
        let socket = SharedDescriptor(FileDescriptor(owning: rawDescriptor))
        socket.descriptor.prepareForLink()
        return SocketLink(
            socket,
            peer: peer,
            local: nil,
            isResumed: false,
            loop: self,
            environment: NoController(timeline: timeline)
        )
    }
}

/// The environment without a controller: it knows nothing, and can change nothing.
private struct NoController: LinkEnvironment {
    let timeline: any Timeline
    let isAdapterUp = true

    func drop(_ peer: BluetoothAddress, _ result: @escaping @Sendable (Bool) -> Void) { result(false) }

    // MARK: - What is known

    func readRSSI(of peer: BluetoothAddress, _ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }

    func readConditions(
        of peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (LinkConditions) -> Void
    ) { result(LinkConditions()) }

    func observeConditions(handle: UInt16, _ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        RadioActivity {}
    }

    func readEnd(
        ofLinkTo peer: BluetoothAddress,
        _ result: @escaping @Sendable (ManagementDisconnectReason?) -> Void
    ) { result(nil) }

    func hasKey(of peer: BluetoothAddress) -> Bool { false }

    func keyLevel(of peer: BluetoothAddress) -> LinkSecurity.Level? { nil }

    func hasForeignKey(of peer: BluetoothAddress) -> Bool { false }

    func observeKeys(of peer: BluetoothAddress, _ made: @escaping @Sendable () -> Void) -> RadioActivity {
        RadioActivity {}
    }

    func watchSecurity(
        of peer: BluetoothAddress,
        _ failed: @escaping @Sendable (BLEError) -> Void
    ) -> RadioActivity { RadioActivity {} }

    // MARK: - What only a controller can do

    func request(
        _ parameters: ConnectionParameters,
        for peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) { result(.failure(.parametersNotChanged(peer))) }

    func pairAnew(
        with peer: BluetoothAddress,
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        _ result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        result(.failure(.missingCapability(.networkAdministration, operation: "pair", object: "with \(peer)")))
        return RadioActivity {}
    }
}
