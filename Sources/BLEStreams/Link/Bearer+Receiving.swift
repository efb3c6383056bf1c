import BLEProtocol
import BLERadio
import Synchronization

extension Bearer: ATTLinkReceiver {
    func linkReceived(_ pdus: consuming ReceivedPDUs) {
        guard let (values, handle) = notifications(in: pdus) else { return takeEach(pdus) }
        // Let go before the consumer has the values: two threads that count references to the same octets slow each
        // other down.
        pdus = ReceivedPDUs()
        change { state, effects in
            if state.end == nil { take(values, of: handle, &state, &effects) }
        }
    }

    /// The values, where all are notifications of one characteristic, as nearly all PDUs are; they change nothing in
    /// the machine.
    private func notifications(in pdus: ReceivedPDUs) -> ([CharacteristicValue], UInt16)? {
        guard pdus.count > 0, let handle = GATTClient.handle(ofNotification: pdus.head(of: 0)) else { return nil }
        var values: [CharacteristicValue] = []
        values.reserveCapacity(pdus.count)
        for index in 0..<pdus.count {
            guard GATTClient.handle(ofNotification: pdus.head(of: index)) == handle else { return nil }
            let octets = pdus.octets(of: index, from: GATTClient.valueOffset)
            values.append(CharacteristicValue(bytes: octets, time: pdus.time(of: index)))
        }
        return (values, handle)
    }

    private func takeEach(_ pdus: ReceivedPDUs) {
        change { state, effects in
            var security: ATTSecurity?
            for pdu in pdus where state.end == nil {
                // One that came alone is the whole of its array, and isn't copied.
                let octets = Array(pdu.bytes)
                guard let first = octets.first else { continue }
                switch ATTOpcode(rawValue: first).kind {
                case .response where !ATTServer.answersIndication(octets), .notification, .indication:
                    take(state.client.received(octets, at: pdu.time), &state, &effects)
                case .request, .command, .confirmation, .response, .unknown:
                    // Asking the kernel costs a system call; once is enough for what came in one go.
                    let current = security ?? ATTSecurity(radioLink.security)
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

    func linkEnded(_ reason: DisconnectReason) {
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

extension ATTSecurity {
    fileprivate init(_ security: LinkSecurity) {
        self.init(
            isEncrypted: security.isEncrypted,
            isAuthenticated: security.isAuthenticated,
            keySize: security.keySize
        )
    }
}
