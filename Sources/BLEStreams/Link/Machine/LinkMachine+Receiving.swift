import BLEProtocol
import BLERadio

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
            take(client.received(pdu, at: time), &output)
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
        take(server.received(pdu, security: security, database: &database), &output)
    }

    // MARK: - The halves

    mutating func take(_ step: GATTClient.Output, _ output: inout Output) {
        ignored += step.notes.count
        // Mostly there are none of these or of those, and asking costs less than iterating.
        if !step.values.isEmpty { take(step.values, &output) }
        if let timer = step.timer { output.clientTimer = timer }
        giveUp(step.close, &output)
        if step.finished.isEmpty { return }
        for finished in step.finished {
            guard let index = purposes.firstIndex(where: { $0.id.number == finished.id.number }) else { continue }
            ended(purposes.remove(at: index).purpose, finished.result, &output)
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
        !reads.isEmpty || !writes.isEmpty || !subscriptionChanges.isEmpty || !confirmed.isEmpty || !unconfirmed.isEmpty
            || !cancelled.isEmpty || !room.isEmpty
    }
}
