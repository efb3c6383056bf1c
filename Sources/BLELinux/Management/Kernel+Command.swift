internal import BLEProtocol

extension Kernel {
    /// Sends a management command through a socket of its own. The kernel carries it out though nobody waits for the
    /// answer.
    ///
    /// - Returns: whether it could be sent.
    func sendApart(_ datagram: [UInt8]) -> Bool {
        do throws(SystemError) {
            let socket = try FileDescriptor.hciSocket(of: self)
            try socket.bind(to: .control)
            try socket.send(datagram)
            return true
        } catch {
            return false
        }
    }

    /// Whether the management interface knows an adapter; `nil` if it can't be asked.
    ///
    /// The kernel answers this command before the call that sends it returns. Source: kernel, `net/bluetooth/mgmt.c`,
    /// `read_controller_info`.
    func knows(_ adapter: UInt16) -> Bool? {
        do throws(SystemError) {
            let socket = try FileDescriptor.hciSocket(of: self)
            try socket.bind(to: .control)
            try socket.send(ManagementReadInformation().packet(index: ManagementIndex(rawValue: adapter)).encoded)
            let buffer = ReceiveBuffer()
            for datagram in 0..<(try socket.receive(into: buffer)) {
                guard let packet = try? ManagementPacket(decoding: buffer.bytes(datagram)),
                    let reply = try? ManagementReply(decoding: packet), reply.opcode == .readInformation
                else { continue }
                return reply.status != .invalidIndex
            }
            return nil
        } catch {
            return nil
        }
    }
}
