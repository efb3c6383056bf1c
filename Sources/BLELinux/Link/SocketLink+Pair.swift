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

/// The environment of such a link.
private struct NoController: EnvironmentWithoutController {
    let timeline: any Timeline
    let isAdapterUp = true

    func drop(_ peer: BluetoothAddress, _ result: @escaping @Sendable (Bool) -> Void) { result(false) }

    func readRSSI(of peer: BluetoothAddress, _ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }

    func watchSecurity(
        of peer: BluetoothAddress,
        _ failed: @escaping @Sendable (BLEError?) -> Void
    ) -> RadioActivity { RadioActivity {} }
}
