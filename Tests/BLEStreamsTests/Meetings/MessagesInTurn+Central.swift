import BLESimulator
import BLEStreams
import Synchronization

// Messages to centrals.
extension MessagesInTurn {
    /// Sends numbered messages to each central that subscribes; what it has no proof of, it sends again.
    func sendToAll(_ server: PeripheralServer) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for try await change in server.subscriptions(of: Self.outbound) {
                let central = change.central
                let subscription = sent.withLock { sent in
                    sent[central.address, default: (0, 0)].subscription += 1
                    return sent[central.address]?.subscription
                }
                guard change.isSubscribed else { continue }
                group.addTask { [self] in
                    var chance = Chance(seed: seed &+ UInt64(subscription ?? 0) << 20)
                    while let (number, last) = sent.withLock({ $0[central.address] }), last == subscription {
                        do {
                            try await send(message(number, of: 0), change, server, by: change.kind == .indicate)
                            sent.withLock { $0[central.address]?.number = number + 1 }
                        } catch let error as BLEError {
                            if error.isFinal { central.disconnect() }
                            return
                        }
                        let pause = [0, chance.below(20), chance.below(400)][chance.below(3)]
                        if pause > 0 { try await bench.time.sleep(for: .milliseconds(pause)) }
                    }
                }
            }
        }
    }

    private func send(
        _ message: [UInt8],
        _ change: PeripheralServer.SubscriptionChange,
        _ server: PeripheralServer,
        by indications: Bool
    ) async throws {
        guard indications else {
            return try await server.send(message, of: Self.outbound, to: change.central, endingWith: mark)
        }
        do {
            for chunk in chunks(message, atMost: change.central.maximumValueLength) {
                _ = try await server.indicate(chunk, of: Self.outbound, to: change.central)
            }
        } catch {
            // It has a part, perhaps.
            change.central.disconnect()
            throw error
        }
    }

    /// Follows the messages in a session, or on one link after the other.
    func follow(_ member: Member) async throws {
        var chance = Chance(seed: seed &* 32 &+ UInt64(member.number))
        let indications = chance.below(4) == 0
        var turns = MessageTurns(self, member, chance)
        if chance.below(3) > 0 {
            let plan = Session.Plan(member.peripheral).subscribing(to: Self.outbound, indications: indications)
            let start = turns
            try await member.central.withSession(plan) { session in
                var turns = start
                let chunks = session.notifications(of: Self.outbound, indications: indications)
                while self.bench.time.now < Self.length { try await turns.take(chunks, isKept: true) }
                turns.checkAny()
            }
        } else {
            while bench.time.now < Self.length {
                do {
                    turns = try await member.peripheral.withLink { [turns] link in
                        var turns = turns
                        let chunks = link.notifications(of: Self.outbound, indications: indications)
                        while self.bench.time.now < Self.length {
                            try await turns.take(chunks, isKept: false)
                        }
                        return turns
                    }
                } catch is BLEError {
                    turns = MessageTurns(self, member, Chance(seed: chance.next()))
                }
            }
        }
    }
}
