internal import BLEProtocol
internal import BLERadio
internal import Synchronization

extension SocketLink {
    func send(_ pdu: [UInt8]) -> SendResult {
        // The kernel would put an empty frame on air.
        precondition(!pdu.isEmpty, "an ATT PDU has at least its opcode")
        precondition(pdu.count <= maximumPDUSize, "a PDU is at most maximumPDUSize octets long")
        // Not under the lock: the receiving thread would wait for the system call.
        guard let socket = state.withLock({ $0.writableSocket }) else { return .ended }
        var failure: SystemError?
        for _ in 0..<Self.patience {
            do throws(SystemError) {
                try socket.descriptor.send(pdu)
                reading.hasSent(to: socket.descriptor)
                return .sent
            } catch {
                failure = error
            }
            // While the kernel raises the security, a socket is neither connected nor writable. If it is writable, that
            // has just ended.
            guard failure == .notConnected, socket.descriptor.readinessNow(for: .writable) == .writable else { break }
        }
        return state.withLock { refused(with: failure, by: socket, &$0) }
    }

    /// The tries after which a socket is given up that accepts nothing but claims to have room.
    private static let patience = 3

    /// What a failed `send` means.
    private func refused(with error: SystemError?, by socket: SharedDescriptor, _ state: inout State) -> SendResult {
        let readiness = error == .notConnected ? socket.descriptor.readinessNow(for: .writable) : []
        switch error {
        case .wouldBlock: break
        case .notConnected where readiness.isEmpty: break
        default:
            // The reason for a connection's end is reported where the end is read; another failure may be reported only
            // here.
            if error != .brokenPipe, !readiness.isEnd { state.errorOfSending = error }
            state.hasFailedToSend = true
            loop.enqueueReceiving { self.endAfterFailure($0) }
            return .ended
        }
        // Closed since the socket was read from the state.
        guard state.writableSocket != nil else { return .ended }
        waitUntilWritable(&state)
        return .full
    }

    /// Ends a link after `send` failed, on the loop's thread and once the link is started: not every error is the end
    /// of the socket, and without this the receiver would never learn that the link is useless.
    func endAfterFailure(_ buffer: ReceiveBuffer) {
        if state.withLock({ $0.hasFailedToSend && $0.registration != nil }) { dropPromptly(buffer) }
    }

    func waitUntilWritable(_ state: inout State) {
        state.isWaitingToWrite = true
        guard state.registration != nil, let socket = state.socket else { return }
        do throws(SystemError) {
            try reading.alsoWait(for: [.peerClosed, .writable], of: socket.descriptor)
        } catch {
            // Otherwise the sender would never learn that there is room again.
            loop.enqueue { self.end(DisconnectReason(.other, systemError: error.rawValue)) }
        }
    }
}
