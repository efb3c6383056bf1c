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

    /// Whether a procedure is a command that the radio has yet to take; it may just be on its way there.
    package func isWaitingCommand(_ id: ProcedureID) -> Bool {
        if case .command(let command)? = onItsWay, command.id == id { return true }
        return commands.contains { $0.id == id }
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

extension GATTClient {
    /// Takes a PDU that is for the client half: a response, a notification or an indication.
    ///
    /// A response that doesn't belong to the open request is ignored with a note: the right answer is still due, and no
    /// other request is sent before it has come. An invalid PDU never traps. Report a request with ``sending()`` or
    /// ``sent()`` before passing its answer here.
    package mutating func received(_ pdu: [UInt8], at time: ReceptionTime) -> Output {
        guard let first = pdu.first else { return Output(note: "an empty PDU was ignored") }
        switch first {
        case 0x1B: return receivedValue(pdu, at: time, isIndication: false)
        case 0x1D: return receivedValue(pdu, at: time, isIndication: true)
        case 0x23: return receivedValues(pdu, at: time)
        default: break
        }
        let opcode = ATTOpcode(rawValue: first)
        guard opcode.kind == .response else { return Output(note: "\(opcode) is not for a client: ignored") }
        return receivedResponse(opcode, pdu)
    }

    /// The handle in a Handle Value Notification, which changes nothing in the machine, from its first three octets;
    /// `nil` for all other PDUs, and if there is no handle. The value begins after ``valueOffset`` octets.
    @inlinable
    package static func handle(ofNotification head: (UInt8?, UInt8?, UInt8?)) -> UInt16? {
        guard head.0 == 0x1B, let low = head.1, let high = head.2 else { return nil }
        return UInt16(low) | UInt16(high) << 8
    }

    /// The octets before the value in a notification or an indication.
    @inlinable
    package static var valueOffset: Int { 3 }

    private mutating func receivedValue(_ pdu: [UInt8], at time: ReceptionTime, isIndication: Bool) -> Output {
        var output = Output()
        // Even one that is malformed or for an unknown handle: an unconfirmed indication blocks the server for good.
        if isIndication, closed == nil { confirmations &+= 1 }
        guard pdu.count >= Self.valueOffset else {
            output.notes.append("\(isIndication ? "an indication" : "a notification") without a handle was ignored")
            return output
        }
        let value = ReceivedValue(
            handle: UInt16(pdu[1]) | UInt16(pdu[2]) << 8,
            value: pdu[Self.valueOffset...],
            time: time,
            isIndication: isIndication
        )
        output.values.append(value)
        return output
    }

    /// A peer that cuts the last value, which it must not, has sent the others whole.
    private func receivedValues(_ pdu: [UInt8], at time: ReceptionTime) -> Output {
        var output = Output()
        do throws(ATTDecodingError) {
            try ATTMultipleHandleValueNotification.forEachEntry(of: pdu) { entry in
                output.values.append(
                    ReceivedValue(handle: entry.handle, value: entry.value, time: time, isIndication: false)
                )
            }
        } catch {
            output.notes.append("a notification, or its last value, was ignored: \(error)")
        }
        return output
    }

    private mutating func receivedResponse(_ opcode: ATTOpcode, _ pdu: [UInt8]) -> Output {
        // Part by part: a copy of the whole costs more than everything else here.
        guard let sentMTU = slot?.sentMTU, let request = slot?.request else {
            return ignored(opcode, pdu, "without an open request")
        }
        switch request.relation(to: pdu) {
        case .answer: break
        case .foreign: return ignored(opcode, pdu, "while \(request.opcode) was open")
        case .perhaps:
            // The first one is kept: it counts if nothing better comes.
            if slot?.doubtful == nil { slot?.doubtful = pdu }
            return Output(note: "Error Response for another handle while \(request.opcode) was open: ignored for now")
        }
        var output = Output()
        if let timer { output.timer = .stop(timer) }
        timer = nil
        answered(answer(opcode, pdu, sentMTU: sentMTU), &output)
        return output
    }

    /// Takes what is not the answer to the open request. BlueZ answers notifications and indications that it doesn't
    /// expect with an error, some peripherals write commands.
    private mutating func ignored(_ opcode: ATTOpcode, _ pdu: [UInt8], _ circumstance: String) -> Output {
        if opcode == .exchangeMTUResponse, isExchangeOverdue, closed == nil,
            let response = try? ATTExchangeMTUResponse(decoding: pdu)
        {
            isExchangeOverdue = false
            setMTU(Int(response.serverMTU))
            return Output()
        }
        let cause = opcode == .errorResponse && pdu.count >= 2 ? " to \(ATTOpcode(rawValue: pdu[1]))" : ""
        return Output(note: "\(opcode)\(cause) \(circumstance): ignored")
    }

    /// The open request is answered; its timer has stopped.
    mutating func answered(_ answer: Result<GATTAnswer, GATTFailure>, _ output: inout Output) {
        guard let stage = slot?.stage, let opcode = slot?.request.opcode else { return }
        // Asked first: nothing is copied of other answers.
        if opcode == .exchangeMTURequest || opcode == .executeWriteRequest, case .success(let answer) = answer {
            learn(from: answer, to: opcode)
        }
        guard stage == .running else {
            if case .success(let answer) = answer, case .error(let response) = answer.content {
                output.isOutOfSync = response.error == .databaseOutOfSync
            }
            return undo(&output)
        }
        switch answer {
        case .success(let answer): advance(with: answer, &output)
        case .failure(let failure): endRunning(with: failure, &output)
        }
    }

    func answer(_ opcode: ATTOpcode, _ pdu: [UInt8], sentMTU: Int) -> Result<GATTAnswer, GATTFailure> {
        // A cut value fills the smaller of the two: an exchange may have crossed the request.
        let mtu = min(sentMTU, mtu)
        guard opcode == .errorResponse else {
            return .success(GATTAnswer(.response(pdu[...]), mtu: mtu, leastMTU: min(mtu, leastMTU)))
        }
        do throws(ATTDecodingError) {
            return .success(GATTAnswer(.error(try ATTErrorResponse(decoding: pdu)), mtu: mtu))
        } catch {
            return .failure(.malformedResponse(error))
        }
    }

    /// What an answer says of the peer, even if nobody waits for it any more.
    private mutating func learn(from answer: GATTAnswer, to opcode: ATTOpcode) {
        switch opcode {
        case .exchangeMTURequest: adoptMTU(from: answer)
        case .executeWriteRequest:
            // Any other error is that of a server that keeps no writes.
            if case .error(let response) = answer.content, response.error == .databaseOutOfSync { return }
            mayKeepWrites = false
        default: break
        }
    }

    /// The new ATT_MTU applies from this answer on.
    private mutating func adoptMTU(from answer: GATTAnswer) {
        guard let response = try? answer.response(to: ATTExchangeMTURequest.self) else { return }
        setMTU(Int(response.serverMTU))
    }

    private mutating func advance(with answer: GATTAnswer, _ output: inout Output) {
        let context = context
        guard let id = slot?.id, let isStale = slot?.isStale, let step = occupant?.erasedReceived(answer, context)
        else {
            return
        }
        // Asked apart: a condition in the cases has a copy made of the step.
        if isStale, mustRepeat(step) { return endRunning(with: .databaseChanged, &output) }
        switch consume step {
        case .request(let request):
            slot?.request = request
            slot?.sentMTU = nil
            slot?.doubtful = nil
        case .ended(.success(let value)):
            output.finished.append(Finished(id: id, result: .success(value)))
            slot = nil
            occupant = nil
            fillSlot(&output)
        case .ended(.failure(let failure)):
            endRunning(with: failure, &output)
        case .command:
            preconditionFailure("a procedure that sends a command must say isCommand")
        }
    }

    /// Whether the procedure that has the slot must begin again, since its handles may have changed their meaning.
    private func mustRepeat(_ step: GATTErasedStep) -> Bool {
        switch step {
        case .request: true
        case .ended(.success): occupant.map { type(of: $0).isRepeatable } ?? false
        // The peer has looked for a handle of before, and has done nothing.
        case .ended(.failure(.attribute(.invalidHandle, _))): true
        case .ended(.failure), .command: false
        }
    }

    mutating func endRunning(with failure: GATTFailure, _ output: inout Output) {
        guard let id = slot?.id else { return }
        output.finished.append(Finished(id: id, result: .failure(failure)))
        undo(&output)
    }
}
