import BLEProtocol
import BLERadio
import Synchronization

extension Bearer: ATTLinkReceiver {
    func linkReceived(_ pdus: [ReceivedPDU]) {
        change { state, effects in
            var security: ATTSecurity?
            for pdu in pdus where state.end == nil {
                guard let first = pdu.bytes.first else { continue }
                let opcode = ATTOpcode(rawValue: first)
                // The way of every notification: it changes nothing in the machine.
                if opcode == .handleValueNotification, let value = GATTClient.notification(in: pdu.bytes, at: pdu.time)
                {
                    take(value, &state, &effects)
                    continue
                }
                switch opcode.kind {
                case .response where !ATTServer.answersIndication(pdu.bytes), .notification, .indication:
                    take(state.client.received(pdu.bytes, at: pdu.time), &state, &effects)
                case .request, .command, .confirmation, .response, .unknown:
                    // Asking the kernel costs a system call; once is enough for what came in one go.
                    let current = security ?? ATTSecurity(radioLink.security)
                    security = current
                    let output = database.withLock {
                        state.server.received(pdu.bytes, security: current, database: &$0)
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
