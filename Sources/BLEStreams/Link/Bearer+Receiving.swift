import BLEProtocol
import BLERadio
import Synchronization

extension Bearer: ATTLinkReceiver {
    func linkReceived(_ pdus: consuming ReceivedPDUs) {
        guard let run = pdus.notifications(from: 0), run.end == pdus.count else { return takeEach(pdus) }
        let values = pdus.values(0..<run.end)
        // Let go before the consumer has the values: two threads that count references to the same octets slow each
        // other down.
        pdus = ReceivedPDUs()
        change { state, effects in
            state.hasReceived = true
            if state.end == nil { take(values, of: run.handle, &state, &effects) }
        }
    }

    /// Takes PDUs that are not all of one characteristic.
    private func takeEach(_ pdus: ReceivedPDUs) {
        change { state, effects in
            state.hasReceived = true
            var security: ATTSecurity?
            var index = 0
            while index < pdus.count, state.end == nil {
                if let run = pdus.notifications(from: index) {
                    take(pdus.values(index..<run.end), of: run.handle, &state, &effects)
                    index = run.end
                    continue
                }
                let pdu = pdus[index]
                index += 1
                // One that came alone is the whole of its array, and isn't copied.
                let octets = Array(pdu.bytes)
                guard let first = octets.first else { continue }
                switch ATTOpcode(rawValue: first).kind {
                case .response where !ATTServer.answersIndication(octets), .notification, .indication:
                    take(state.client.received(octets, at: pdu.time), &state, &effects)
                case .request, .command, .confirmation, .response, .unknown:
                    // Asking the kernel costs a system call; once is enough for what came in one go.
                    let current = security ?? self.security
                    security = current
                    let output = database.withLock {
                        state.server.received(octets, security: current, database: &$0)
                    }
                    take(output, &state, &effects)
                }
            }
        }
    }

    /// Where one characteristic alone is subscribed to, and no answer is awaited, what is missing are its values. In
    /// all other cases nobody can tell whose it was.
    func linkDropped(_ count: Int) {
        let routes = state.withLock { state -> [Route] in
            state.drops += count
            guard state.routes.count == 1, !state.client.isAwaitingAnswer else { return [] }
            return state.routes.first?.value ?? []
        }
        for route in routes { route.lost(count) }
    }

    func linkBecameWritable() { unblock() }

    func linkEncryptionFailed(_ error: BLEError) { securityFailed(error) }

    func linkEnded(_ reason: DisconnectReason) {
        // The link may have been encrypted after the peer's last PDU. That of a dead link is not asked for more.
        if radioLink.security.isEncrypted { refreshSecurity() }
        let final = change { state, effects in
            let final = state.closeReason ?? reason
            state.end = final
            take(state.client.ended(final), &state, &effects)
            take(state.server.ended(), &state, &effects)
            state.alarms.cancel()
            return final
        }
        state.withLock { $0.routes = [:] }
        onEnd(final)
    }
}

extension ReceivedPDUs {
    /// The notifications of one characteristic that follow each other from a PDU on, and where they end; `nil` where it
    /// is none. They change nothing in the machine.
    fileprivate func notifications(from first: Int) -> (handle: UInt16, end: Int)? {
        guard first < count, let handle = GATTClient.handle(ofNotification: head(of: first)) else { return nil }
        var end = first + 1
        while end < count, GATTClient.handle(ofNotification: head(of: end)) == handle { end += 1 }
        return (handle, end)
    }

    /// The values of notifications.
    fileprivate func values(_ range: Range<Int>) -> [CharacteristicValue] {
        range.map { index in
            CharacteristicValue(bytes: octets(of: index, from: GATTClient.valueOffset), time: time(of: index))
        }
    }
}
