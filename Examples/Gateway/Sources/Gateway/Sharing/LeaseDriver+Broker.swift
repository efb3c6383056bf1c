import Foundation
import Leases
import MQTT
import Synchronization

/// The broker's side: all is called on the client's queue, in the broker's order.
extension LeaseDriver: BrokerDriver {
    /// The client's settings.
    func settings(_ broker: MQTTSettings) -> MQTTSettings {
        var settings = broker
        settings.clientID += "-leases"
        // A message that waits here confirms nothing.
        settings.inFlight = 1000
        settings.receiveMaximum = 1000
        settings.subscriptions = [topics.pulse(of: gateway)]
        settings.farewellPublishesWill = false
        return settings
    }

    func will() -> MQTTDelayedWill? {
        let session = SessionID(rawValue: .random(in: 1 ... .max))
        state.withLock { $0.session = session }
        return MQTTDelayedWill(gone(session), delay: settings.terms.willDelay)
    }

    private func gone(_ session: SessionID) -> MQTTMessage {
        let payload = (try? JSONEncoder().encode(GoneSession(session))) ?? Data()
        return .json(topics.gone(gateway), Array(payload), isRetained: true)
    }

    func connected() {
        state.withLock { state in
            state.changes = []
            (state.publications, state.records) = ([], [:])
            (state.refusals, state.echo) = (Refusals(), Echo())
            // Brokers may forget the will of a session that is replaced; and this gateway acts on nothing by it.
            if let session = state.gone {
                state.publications.append(Publication(peripheral: nil, message: gone(session)))
            }
        }
    }

    func interrupted() {
        give(.disconnected) { state in
            if state.isConnected { state.gone = state.session }
            state.isConnected = false
            state.counts.isConnected = false
        }
        state.withLock { state in
            state.changes = []
            state.publications = []
        }
    }

    func subscribed(to topic: String) {
        if topic == topics.pulse(of: gateway) {
            let session = state.withLock { state in
                state.isConnected = true
                state.counts.isConnected = true
                return state.session
            }
            expectEcho(during: session)
            give(.connected(session))
        } else if let id = peripheral(of: topic) {
            give(.subscribed(id))
        }
    }

    func received(_ message: MQTTMessage) {
        let isHere = state.withLock { $0.isConnected }
        guard isHere else { return }
        let data = Data(message.payload)
        if message.topic == topics.pulse(of: gateway) {
            if state.withLock({ $0.echo.come() }) { return reconnect() }
            if let number = UInt64(String(decoding: message.payload, as: UTF8.self)) { give(.pulsed(number)) }
        } else if let id = peripheral(of: message.topic) {
            // What can't be read is dropped: a record after it names an unknown predecessor, and is judged so.
            guard let content = try? JSONDecoder().decode(LeaseMessage.self, from: data) else { return }
            give(.message(id, content, isRetained: message.isRetained))
        } else if let other = owner(of: message.topic) {
            guard let session = try? JSONDecoder().decode(GoneSession.self, from: data).id else { return }
            give(.gone(other, session))
        }
    }

    func nextChange() -> MQTTSubscriptionChange? {
        state.withLock { $0.changes.isEmpty ? nil : $0.changes.removeFirst() }
    }

    func next() -> MQTTOutgoing? {
        state.withLock { state in
            let index = state.publications.firstIndex { publication in
                publication.peripheral.map { !state.parting.contains($0) } ?? true
            }
            guard let index else { return nil }
            state.tokens += 1
            let publication = state.publications.remove(at: index)
            if let peripheral = publication.peripheral, let mark = publication.mark {
                state.records[state.tokens] = (peripheral, mark)
            }
            return MQTTOutgoing(state.tokens, publication.message)
        }
    }

    func acknowledged(_ token: UInt64) {
        state.withLock { state in
            state.echo.isTaken = true
            state.records[token] = nil
        }
    }

    func refused(_ token: UInt64, _ error: MQTTError) {
        let (news, record) = state.withLock { state in
            (state.refusals.news(error), state.records.removeValue(forKey: token))
        }
        if let news { report("leases: \(news)") }
        if let record { give(.refused(record.peripheral, record.mark)) }
    }

    // MARK: - Topics

    private func peripheral(of topic: String) -> PeripheralID? {
        let start = "\(settings.prefix)/leases/"
        return topic.hasPrefix(start) ? bits(topic.dropFirst(start.count)).map(PeripheralID.init) : nil
    }

    private func owner(of topic: String) -> GatewayID? {
        let (start, end) = ("\(settings.prefix)/gateways/", "/gone")
        guard topic.hasPrefix(start), topic.hasSuffix(end) else { return nil }
        return bits(topic.dropFirst(start.count).dropLast(end.count)).map(GatewayID.init)
    }

    private func bits(_ digits: Substring) -> UInt64? {
        digits.utf8.count == 12 ? UInt64(digits, radix: 16) : nil
    }
}
