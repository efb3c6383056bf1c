import BLESimulator
import BLEStreams
import Testing

/// Messages in chunks in both directions between a peripheral and two centrals of one program, which take one message
/// after another.
@Suite(.timeLimit(.minutes(10))) struct MessagesBothWaysTests {
    private static let size = 1_100
    private static let wishes = 10

    /// Takes messages, and sends numbered ones to whoever has subscribed.
    private static func serve(
        _ taken: Recorder<[UInt8]>
    ) -> @Sendable (PeripheralServer, Bench) async throws -> Void {
        { server, bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await message in server.messages(to: MessageBench.inbound) { taken.add(message.octets) }
                }
                group.addTask {
                    var number: UInt32 = 0
                    while true {
                        let filler = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size - 4)
                        let message = number.octets + filler
                        for central in server.centrals {
                            // Who has not subscribed, or has left in the middle, gets none.
                            do {
                                try await server.send(message, of: MessageBench.outbound, to: central)
                            } catch is BLEError {}
                        }
                        number += 1
                        try await bench.time.sleep(for: .milliseconds(70))
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private static func sendWishes(of sender: UInt8, over access: some CharacteristicAccess) async throws {
        for number in 0..<UInt8(wishes) {
            try await access.send([sender, number] + [UInt8](repeating: number, count: 700), to: MessageBench.inbound)
        }
    }

    private static func next(_ access: some CharacteristicAccess) async throws -> UInt32 {
        let messages = access.notifications(of: MessageBench.outbound).assembled(until: .endOfMessage())
        let message = try await messages.timeout(.seconds(30)).first()
        #expect(message.count == size && message.dropFirst(4).allSatisfy { $0 == message[0] })
        return UInt32(octets: message.prefix(4))
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `a session that begins again at once misses none, beside a link that unsubscribes and subscribes again`(
        seed: UInt64
    ) async throws {
        let taken = Recorder<[UInt8]>()
        try await Bench.run(
            seed: seed,
            description: MessageBench.description,
            centrals: 2,
            serve: Self.serve(taken)
        ) { bench in
            let adapter = bench.air.adapter()
            let second = try await Central.open(.radio(adapter))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let plan = Session.Plan(bench.peripheral).subscribing(to: MessageBench.outbound)
                    try await bench.central.withSession(plan) { session in
                        async let sent: Void = Self.sendWishes(of: 1, over: session)
                        var numbers: [UInt32] = []
                        while numbers.count < 30 { numbers.append(try await Self.next(session)) }
                        #expect(numbers == Array(numbers[0]..<numbers[0] + 30))
                        try await sent
                    }
                }
                group.addTask {
                    var chance = Chance(seed: seed)
                    try await second.peripheral(bench.peripheralAdapter.address).withLink { link in
                        async let sent: Void = Self.sendWishes(of: 2, over: link)
                        var numbers: [UInt32] = []
                        for _ in 0..<8 {
                            numbers.append(try await Self.next(link))
                            // Until the peripheral knows that nobody listens any more.
                            try await bench.time.sleep(for: .milliseconds(2_000 + chance.below(500)))
                        }
                        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "\(numbers)")
                        try await sent
                    }
                }
                try await group.waitForAll()
            }
            for sender in [1, 2] as [UInt8] {
                let messages = taken.all.filter { $0.first == sender }
                #expect(messages.map { $0[1] } == Array(0..<UInt8(Self.wishes)))
                #expect(messages.allSatisfy { $0.count == 702 && $0.dropFirst(2).allSatisfy { $0 < Self.wishes } })
            }
            #expect(bench.centralAdapter.activity.isIdle && adapter.activity.isIdle)
        }
    }
}
