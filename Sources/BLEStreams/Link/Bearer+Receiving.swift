import BLEProtocol
import BLERadio
import Synchronization

extension Bearer: ATTLinkReceiver {
    func linkReceived(_ pdus: [ReceivedPDU]) {
        change { state, effects in
            var security: ATTSecurity?
            for pdu in pdus where state.end == nil {
                // The way of every notification: it changes nothing in the machine.
                if let handle = GATTClient.handle(ofNotification: pdu.bytes) {
                    let value = CharacteristicValue(
                        bytes: pdu.bytes.dropFirst(GATTClient.valueOffset),
                        time: pdu.time
                    )
                    take(value, of: handle, expecting: pdus.count, &state, &effects)
                    continue
                }
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
