extension GATTClient {
    /// The PDU that writes a value without an answer, for a driver that sends it without the machine, whose state it
    /// doesn't change.
    package static func command(writing value: [UInt8], to handle: UInt16) -> [UInt8] {
        // Here the compiler knows the type of the PDU; elsewhere it doesn't, which costs more than everything else.
        ATTWriteCommand(handle: handle, value: value[...]).encoded
    }

    /// The largest size of such a PDU, in octets: a value has at most 512 octets, however large ATT_MTU is.
    package static func maximumCommandSize(mtu: Int) -> Int { min(mtu, valueOffset + ATTLimits.maximumValueLength) }

    /// Whether ``nextPDU()`` may return a PDU.
    package var hasSomethingToSend: Bool {
        confirmations > 0 || !isHeld && (slot != nil || !commands.isEmpty || offered != nil)
    }

    /// The PDU to send next: confirmations before commands before requests; `nil` if there is none now.
    ///
    /// It returns the same PDU until ``sending()`` or ``sent()``; cancelling its procedure withdraws it.
    package mutating func nextPDU() -> [UInt8]? {
        guard closed == nil, onItsWay == nil else { return nil }
        if isHeld, offered != .confirmation { offered = nil }
        if offered == nil {
            if confirmations > 0 {
                offered = .confirmation
            } else if isHeld {
                return nil
            } else if !commands.isEmpty {
                offered = .command
            } else if slot != nil, slot?.sentMTU == nil {
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

    /// The PDU that ``nextPDU()`` returned is being passed to the radio, which may take a while: it can't be withdrawn
    /// from now on, and its answer may come before the radio has confirmed it.
    package mutating func sending() {
        switch offered {
        case .confirmation:
            confirmations -= 1
            onItsWay = .confirmation
        case .command:
            onItsWay = .command(commands.removeFirst())
        case .request:
            guard let id = slot?.id else { break }
            slot?.sentMTU = mtu
            onItsWay = .request(id, isExchange: slot?.request.opcode == .exchangeMTURequest)
        case nil:
            preconditionFailure("sending() without a PDU of nextPDU()")
        }
        offered = nil
    }

    /// The radio took the PDU: a request's time begins, a command is finished. Without a ``sending()`` before, this
    /// includes it.
    package mutating func sent() -> Output {
        if onItsWay == nil {
            // The bearer has ended while the PDU was on its way.
            if closed != nil { return Output() }
            sending()
        }
        var output = Output()
        switch onItsWay.take() {
        case .command(let command) where !command.isCancelled:
            output.finished.append(Finished(id: command.id, result: .success(.done)))
        case .request(let procedure, let isExchange):
            if isExchange { isMTUExchanged = true }
            // If the answer was faster, there is nothing to wait for.
            guard slot?.id == procedure, slot?.sentMTU != nil else { break }
            let id = makeTimer()
            timer = id
            output.timer = .start(id, isExchange ? Self.exchangeTimeout : Self.transactionTimeout)
        case .confirmation, .command, nil: break
        }
        return output
    }

    /// The radio did not take the PDU: ``nextPDU()`` returns it again, unless it was cancelled meanwhile.
    package mutating func notSent() -> Output {
        var output = Output()
        switch onItsWay.take() {
        case .confirmation:
            if closed == nil { confirmations += 1 }
        case .command(let command):
            guard !command.isCancelled, closed == nil else { break }
            if command.isStale {
                output.finished.append(Finished(id: command.id, result: .failure(.databaseChanged)))
            } else {
                commands.insert(command, at: 0)
            }
        case .request(let id, _):
            guard let stage = slot?.stage, slot?.id == id, slot?.sentMTU != nil else { break }
            slot?.sentMTU = nil
            slot?.doubtful = nil
            if stage == .abandoned {
                undo(&output)
            } else if stage == .running, slot?.isStale == true {
                endRunning(with: .databaseChanged, &output)
            }
        case nil: break
        }
        return output
    }

    private static let confirmation = ATTHandleValueConfirmation().encoded
}
