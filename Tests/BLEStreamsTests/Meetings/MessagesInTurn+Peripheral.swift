import BLESimulator
import BLEStreams
import Synchronization
import Testing

// Messages to the peripheral.
extension MessagesInTurn {
    /// What has become of the messages of the centrals.
    struct Delivery {
        /// How often each was sent, by sender and number.
        var attempts: [[Int]: Int] = [:]
        /// Those that count as delivered.
        var accepted: Set<[Int]> = []
        var taken: Set<[Int]> = []
        var last: [Int: Int] = [:]
    }

    /// Whether the peripheral takes all messages in one loop, as it is told to.
    var hasOneLoop: Bool { seed % 3 == 0 }

    /// Takes messages, in one loop or in turns.
    func takeAll(_ server: PeripheralServer) async throws {
        var chance = Chance(seed: seed &* 64)
        while true {
            let messages = server.messages(to: Self.inbound, endingWith: mark)
            let time = Duration.milliseconds(1 + chance.below(chance.below(2) == 0 ? 100 : 2000))
            let (count, busy) = (1 + chance.below(5), chance.below(3) == 0 ? chance.below(100) : 0)
            let (stream, limit): (BLEStream<PeripheralServer.CentralMessage>, Duration) =
                switch hasOneLoop ? 0 : 1 + chance.below(4) {
                case 0: (messages, .seconds(3600))
                case 1: (messages.prefix(for: time), .seconds(3600))
                case 2: (messages.prefix(count), .seconds(3600))
                case 3: (messages.timeout(time / 10).retry(.constant(time / 20)), time)
                default: (messages, time)
                }
            try await self.limit(to: limit) { [self] in
                do {
                    for try await message in stream {
                        take(message.octets)
                        if busy > 0 { try? await bench.time.sleep(for: .milliseconds(busy)) }
                    }
                } catch is CancellationError {}
            }
            if chance.below(3) == 0 { try await bench.time.sleep(for: .milliseconds(chance.below(200))) }
        }
    }

    private func take(_ message: [UInt8]) {
        guard let (sender, number) = name(of: message) else {
            return found.add("not whole at \(bench.time.now): \(String(decoding: message.prefix(40), as: UTF8.self))")
        }
        deliveries.withLock { state in
            let (key, last) = ([sender, number], state.last[sender] ?? -1)
            if number < last { found.add("\(key) behind \(last)") }
            if !state.taken.insert(key).inserted, state.attempts[key] == 1 { found.add("\(key) twice") }
            state.last[sender] = number
        }
    }

    /// Sends numbered messages in a session, or on one link after the other; one that fails is sent again.
    func sendWishes(_ member: Member) async throws {
        var chance = Chance(seed: seed &* 128 &+ UInt64(member.number))
        let usesSession = chance.below(2) == 0
        let wishes = Wishes(world: self, member: member)
        while bench.time.now < Self.length {
            let start = chance
            chance = Chance(seed: chance.next())
            do {
                if usesSession {
                    try await member.central.withSession(Session.Plan(member.peripheral)) { session in
                        try await wishes.send(over: session, chance: start)
                    }
                } else {
                    try await member.peripheral.withLink { try await wishes.send(over: $0, chance: start) }
                }
            } catch is BLEError {}
        }
        // What is on its way arrives.
        try await bench.time.sleep(for: .seconds(5))
        deliveries.withLock { state in
            let lost = state.accepted.subtracting(state.taken).filter { $0[0] == member.number }
            if !lost.isEmpty { found.add("accepted and lost: \(lost.sorted { $0[1] < $1[1] }.prefix(3))") }
            guard condition == .calm, hasOneLoop, state.last[member.number] == nil else { return }
            found.add("no message came from \(member.number)")
        }
    }
}

/// The messages of one central.
private final class Wishes: Sendable {
    private let world: MessagesInTurn
    private let member: MessagesInTurn.Member
    private let next = Mutex(0)

    init(world: MessagesInTurn, member: MessagesInTurn.Member) { (self.world, self.member) = (world, member) }

    func send(over access: some CharacteristicAccess, chance: Chance) async throws {
        var (chance, isCutOff) = (chance, false)
        while world.bench.time.now < MessagesInTurn.length {
            let number = next.withLock { $0 }
            let key = [member.number, number]
            world.deliveries.withLock { $0.attempts[key, default: 0] += 1 }
            let message = world.message(number, of: member.number)
            // Behind a part, the library refuses the next one; a program that cuts by itself must do so, too.
            let way = isCutOff ? 3 : chance.below(4)
            if chance.below(8) == 0 {
                isCutOff = true
                try await world.limit(to: .milliseconds(chance.below(300))) { [world] in
                    try await access.send(message, to: MessagesInTurn.inbound, endingWith: world.mark)
                }
            } else if way == 0 {
                // Each chunk in several writes that are prepared, if it is longer than one carries.
                for chunk in world.chunks(message, atMost: 1 + chance.below(500)) {
                    try await access.write(chunk, to: MessagesInTurn.inbound)
                }
                _ = world.deliveries.withLock { $0.accepted.insert(key) }
            } else {
                let kind: Link.WriteKind = way == 1 ? .withoutResponse : .withResponse
                try await access.send(message, to: MessagesInTurn.inbound, endingWith: world.mark, kind)
                if kind == .withResponse { _ = world.deliveries.withLock { $0.accepted.insert(key) } }
            }
            next.withLock { $0 += 1 }
            let pause = [0, chance.below(20), chance.below(400)][chance.below(3)]
            if pause > 0 { try await world.bench.time.sleep(for: .milliseconds(pause)) }
        }
    }
}
