internal import BLEProtocol
internal import BLERadio
internal import Synchronization

extension SocketLink {
    func send(_ pdu: [UInt8]) -> SendResult {
        // The kernel would put an empty frame on air.
        precondition(!pdu.isEmpty, "an ATT PDU has at least its opcode")
        precondition(pdu.count <= maximumPDUSize, "a PDU is at most maximumPDUSize octets long")
        // Not under the lock: whoever receives would wait for the system call.
        guard let socket = state.withLock({ $0.writableSocket }) else { return .ended }
        do throws(SystemError) {
            try socket.descriptor.send(pdu)
            return .sent
        } catch {
            return state.withLock { refused(with: error, by: socket, &$0) }
        }
    }

    /// What a failed `send` means. The end of the link is told where it is read, not here; why it ended may have been.
    private func refused(with error: SystemError, by socket: SharedDescriptor, _ state: inout State) -> SendResult {
        switch error {
        case .wouldBlock: break
        // Not connected: either over, or the kernel is raising the security, after which it goes on.
        case .notConnected where !socket.descriptor.readinessNow(for: .writable).isEnd: break
        case .notConnected, .brokenPipe: return .ended
        default:
            state.errorOfSending = error
            return .ended
        }
        // Closed since the socket was taken.
        guard state.writableSocket != nil else { return .ended }
        waitUntilWritable(&state)
        return .full
    }

    func waitUntilWritable(_ state: inout State) {
        state.isWaitingToWrite = true
        guard let registration = state.registration, let socket = state.socket else { return }
        do throws(SystemError) {
            try loop.change(registration, of: socket.descriptor, to: [.readable, .peerClosed, .writable])
        } catch {
            // Nobody would ever hear that there is room again.
            loop.enqueue { self.end(DisconnectReason(.other, systemError: error.rawValue)) }
        }
    }
}
