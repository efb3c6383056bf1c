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
}
