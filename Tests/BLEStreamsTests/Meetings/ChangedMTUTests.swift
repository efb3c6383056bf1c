import BLESimulator
import BLEStreams
import Testing

/// Messages in chunks over a session, each link of which carries PDUs of another size.
@Suite(.timeLimit(.minutes(10))) struct ChangedMTUTests {
    private static let size = 600

    /// Sends numbered messages to whoever is there; one that is interrupted is not sent again.
    private static let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        var number: UInt32 = 0
        while true {
            for central in server.centrals {
                let filler = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size - 4)
                let message = number.octets + filler
                number += 1
                do { try await server.send(message, of: Bench.notifying, to: central) } catch is BLEError {}
            }
            try await bench.time.sleep(for: .milliseconds(100))
        }
    }

    private static func isWhole(_ message: [UInt8]) -> Bool {
        message.count == size && message.dropFirst(4).allSatisfy { $0 == message[0] }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `messages that are timed and retried come whole, in order and once, over links of other MTUs`(
        seed: UInt64
    ) async throws {
        try await Bench.run(seed: seed, serve: Self.serve) { bench in
            var chance = Chance(seed: seed)
            var sizes = [247, 23, 100]
            let numbers = Recorder<UInt32>()
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                let messages = session.notifications(of: Bench.notifying).assembled(until: .endOfMessage())
                    .timeout(.seconds(30)).retry(.constant(.milliseconds(200)))
                for try await message in messages {
                    #expect(Self.isWhole(message))
                    numbers.add(UInt32(octets: message.prefix(4)))
                    guard numbers.all.count.isMultiple(of: 8) else { continue }
                    guard let size = sizes.popLast() else { break }
                    bench.peripheralAdapter.settings.maximumPDUSize = size
                    let delay = Duration.milliseconds(chance.below(500))
                    bench.air.faults.add(.dropLink(after: delay))
                }
            }
            #expect(zip(numbers.all, numbers.all.dropFirst()).allSatisfy { $0 < $1 }, "\(numbers.all)")
            #expect(numbers.all.count == 32)
            let lengths = Set(bench.sent(by: .peripheral).filter { $0.first == 0x1B }.map(\.count))
            #expect(lengths.isSuperset(of: [515, 100, 23, 247]), "\(lengths)")
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }
}
