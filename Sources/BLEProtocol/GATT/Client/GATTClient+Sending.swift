extension GATTClient {
    /// What to send next: confirmations before commands before requests; `nil` where there is nothing now.
    ///
    /// The same PDU is given until ``sent()`` says that the radio took it; cancelling its procedure withdraws it.
    package mutating func nextPDU() -> [UInt8]? {
        guard closed == nil else { return nil }
        if offered == nil {
            if confirmations > 0 {
                offered = .confirmation
            } else if !commands.isEmpty {
                offered = .command
            } else if let slot, slot.sentMTU == nil {
                offered = .request
            }
        }
        switch offered {
        case .confirmation: return Self.confirmation
        case .command: return commands.first?.pdu
        case .request: return slot?.request.pdu
        case nil: return nil
        }
    }

    /// The radio took the PDU that ``nextPDU()`` gave: a request's time begins, a command is finished.
    package mutating func sent() -> Output {
        var output = Output()
        switch offered {
        case .confirmation:
            confirmations -= 1
        case .command:
            output.finished.append(Finished(id: commands.removeFirst().id, result: .success(())))
        case .request:
            if slot?.request.opcode == .exchangeMTURequest { isMTUExchanged = true }
            slot?.sentMTU = mtu
            let id = makeTimer()
            timer = id
            output.timer = .start(id, Self.transactionTimeout)
        case nil:
            preconditionFailure("sent() without a PDU of nextPDU()")
        }
        offered = nil
        return output
    }

    private static let confirmation = ATTHandleValueConfirmation().encoded
}
