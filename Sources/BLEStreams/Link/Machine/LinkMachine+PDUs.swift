import BLEProtocol
import BLERadio

/// How PDUs leave: one at a time, without a lock, in the order in which the halves provide them.
///
/// A system call takes longer than all else here; under the lock, receivers would wait for senders. So a caller that
/// finds something to send, and nobody sending, takes the turn, and keeps it until there is nothing more to send.
/// Others leave their PDUs in the machine meanwhile.
extension LinkMachine {
    struct SendingTurn: Equatable, Sendable {
        /// Whether somebody has the turn.
        var isTaken = false
        /// The radio is full or has ended, and will call.
        var isBlocked = false
        /// Received values must be delivered first.
        var isHeldBack = false
        /// Counts the radio's calls that there is room, which may come before the refused caller is back under the
        /// lock.
        var rooms = 0

        /// Whether the turn can be taken.
        var isFree: Bool { !isTaken && !isBlocked && !isHeldBack }
    }

    /// A PDU that the owner of the turn hands to the radio.
    struct Outgoing: Equatable, Sendable {
        let pdu: [UInt8]
        let isOfServer: Bool
        /// The value of `SendingTurn.rooms` when the PDU was taken.
        let rooms: Int
    }

    /// The next PDU to send, and the turn with it; `nil` if there is none, or the turn isn't free.
    mutating func nextOutgoing() -> Outgoing? {
        guard turn.isFree, end == nil else { return nil }
        server.isExchangingMTU = client.isExchangingMTU
        shareMTU()
        let (pdu, isOfServer): ([UInt8], Bool)
        if let next = server.nextPDU() {
            if let mtu = server.sending() { client.setMTU(mtu) }
            (pdu, isOfServer) = (next, true)
        } else if client.hasSomethingToSend, let next = client.nextPDU() {
            client.sending()
            (pdu, isOfServer) = (next, false)
        } else {
            return nil
        }
        turn.isTaken = true
        return Outgoing(pdu: pdu, isOfServer: isOfServer, rooms: turn.rooms)
    }

    /// Gives the server half the ATT_MTU that the client half has agreed on: it holds from the answer on, also for what
    /// the peer sends right behind that.
    private mutating func shareMTU() { if server.mtu != client.mtu { server.setMTU(client.mtu) } }

    /// The radio has accepted or refused a PDU: the turn is free again.
    mutating func handedOver(_ outgoing: Outgoing, _ result: SendResult, _ output: inout Output) {
        turn.isTaken = false
        switch (result, outgoing.isOfServer) {
        case (.sent, true): take(server.sent(), &output)
        case (.sent, false):
            var step = client.sent()
            take(&step, &output)
        case (.full, true), (.ended, true): server.notSent()
        case (.full, false), (.ended, false): take(client.notSent(), &output)
        }
        block(after: result, since: outgoing.rooms)
    }

    /// If the radio is full or has ended, it calls when there is something to do, unless it has called meanwhile.
    private mutating func block(after result: SendResult, since rooms: Int) {
        switch result {
        case .sent: break
        case .full: if turn.rooms == rooms { turn.isBlocked = true }
        case .ended: turn.isBlocked = true
        }
    }

    /// The radio has room again.
    mutating func unblocked() {
        turn.rooms += 1
        turn.isBlocked = false
    }

    /// The radio may have room again, and has not told: what it refused is handed over once more.
    ///
    /// - Returns: `false` if somebody is handing over a PDU.
    mutating func tryAgain() -> Bool {
        turn.isBlocked = false
        return !turn.isTaken
    }

    // MARK: - The short way

    /// Takes the turn for a command that needs no answer and no wait, if nothing else must leave first and nobody else
    /// holds the link; ``handedOver(_:since:)`` releases it.
    ///
    /// - Parameter count: the number of octets of the command.
    /// - Returns: the value of `SendingTurn.rooms`; `nil` if the command must begin as an operation.
    mutating func takeTurn(forCommandOf count: Int, pass: Pass?) -> Int? {
        guard count <= GATTClient.maximumCommandSize(mtu: client.mtu), turn.isFree, !client.isHeld, end == nil,
            closeReason == nil, lane.beginInstant(pass: pass)
        else { return nil }
        turn.isTaken = true
        return turn.rooms
    }

    /// The radio has accepted or refused the command: the turn is free again.
    ///
    /// - Returns: whether that was all; if not, somebody waits for it, and ``endCommand(_:_:)`` does the rest.
    mutating func handedOver(_ result: SendResult, since rooms: Int) -> Bool {
        turn.isTaken = false
        block(after: result, since: rooms)
        if lane.isWaitedFor || tracker.mustSettle { return false }
        _ = lane.endInstant()
        return true
    }

    /// Begins the operations that have waited for the command.
    mutating func endCommand(_ result: SendResult, _ output: inout Output) {
        admit(lane.endInstant(), &output)
        if result == .sent { settle(&output) }
    }
}

/// Received PDUs, and the outputs of the two halves.
extension LinkMachine {
    /// The consumers of received notifications of one characteristic, if delivering them is all there is to do.
    mutating func received(from handle: UInt16) -> [ValueConsumer]? {
        guard end == nil, let route = routes[handle], route.held.isEmpty, !route.isOwn else { return nil }
        hasReceived = true
        return route.open
    }

    /// Consecutive notifications of one characteristic.
    mutating func received(_ values: [CharacteristicValue], of handle: UInt16, _ output: inout Output) {
        hasReceived = true
        if end == nil { take(values, of: handle, &output) }
    }

    /// Handles a PDU for the client half.
    ///
    /// - Returns: `false` for a PDU for the server half.
    mutating func received(_ pdu: [UInt8], at time: ReceptionTime, _ output: inout Output) -> Bool {
        hasReceived = true
        guard let first = pdu.first else { return true }
        switch ATTOpcode(rawValue: first).kind {
        case .response where !ATTServer.answersIndication(pdu), .notification, .indication:
            var step = client.received(pdu, at: time)
            take(&step, &output)
            return true
        case .request, .command, .confirmation, .response, .unknown:
            return false
        }
    }

    /// Handles a PDU for the server half.
    mutating func served(
        _ pdu: [UInt8],
        security: ATTSecurity,
        database: inout AttributeDatabase,
        _ output: inout Output
    ) {
        shareMTU()
        take(server.received(pdu, security: security, database: &database), &output)
    }

    // MARK: - The halves

    mutating func take(_ step: consuming GATTClient.Output, _ output: inout Output) { take(&step, &output) }

    /// The same, where each value passes: an output that is handed over is moved once more.
    mutating func take(_ step: inout GATTClient.Output, _ output: inout Output) {
        ignored += step.notes.count
        // Mostly there are none of these or of those, and asking costs less than iterating.
        if !step.values.isEmpty { take(step.values, &output) }
        if let timer = step.timer { output.clientTimer = timer }
        giveUp(step.close, &output)
        if step.isOutOfSync { outOfSyncUnawaited(&output) }
        if step.finished.isEmpty { return }
        step.finished.drain { finished in
            guard let index = purposes.firstIndex(where: { $0.id.number == finished.id.number }) else { return }
            ended(purposes.take(at: index).purpose, finished.result, &output)
        }
    }

    private mutating func take(_ values: Few<GATTClient.ReceivedValue>, _ output: inout Output) {
        for value in values {
            if value.isIndication { output.hasIndication = true }
            let delivered = CharacteristicValue(bytes: value.value, time: value.time, isIndication: value.isIndication)
            take(delivered, of: value.handle, &output)
        }
    }

    private mutating func ended(
        _ purpose: Purpose,
        _ result: Result<GATTSuccess, GATTFailure>,
        _ output: inout Output
    ) {
        switch purpose {
        case .operation(let id): ended(id, result, &output)
        case .configuration(let configuration): configured(configuration, result, &output)
        case .hash(let number): hashRead(number, result, &output)
        case .probe(let number): probed(number, result, &output)
        case .discovery(let number): discovered(number, result, &output)
        }
    }

    /// Abandons a procedure: its outcome is ignored.
    mutating func withdraw(_ procedure: GATTClient.ProcedureID) { purposes.removeAll { $0.id == procedure } }

    mutating func take(_ step: ATTServer.Output, _ output: inout Output) {
        if let mtu = step.mtu { client.setMTU(mtu) }
        if step.concernsProgram { output.add { $0.served.append(step) } }
        if let timer = step.timer { output.serverTimer = timer }
        giveUp(step.close, &output)
    }

    private mutating func giveUp(_ reason: DisconnectReason?, _ output: inout Output) {
        guard let reason else { return }
        close(reason)
        output.add { $0.mustDisconnect = true }
    }
}

extension ATTServer.Output {
    /// Whether it contains anything for the program, not only for the driver.
    fileprivate var concernsProgram: Bool {
        !reads.isEmpty || !writes.isEmpty || !lostWrites.isEmpty || !subscriptionChanges.isEmpty || !confirmed.isEmpty
            || !unconfirmed.isEmpty || !cancelled.isEmpty || !room.isEmpty || lostPDUs > 0 || hasNewState
    }
}
