import BLESimulator
import BLEStreams
import Testing

/// Messages in chunks that several consumers share, through lost links.
@Suite(.timeLimit(.minutes(10))) struct SharedMessagesTests {
    /// Sends rising numbers as messages of twenty octets in four chunks, the first octet of each being the number.
    private static let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        var number: UInt8 = 0
        while true {
            for part in 0..<4 {
                try await server.notify([number, UInt8(part), 1, 2, 3], of: Bench.notifying)
                try await bench.time.sleep(for: .milliseconds(100))
            }
            try await server.notify("EOM".utf8, of: Bench.notifying)
            number &+= 1
        }
    }

    private static func isWhole(_ message: [UInt8]) -> Bool {
        message.count == 20 && Set(stride(from: 0, to: 20, by: 5).map { message[$0] }).count == 1
            && stride(from: 1, to: 20, by: 5).map { message[$0] } == [0, 1, 2, 3]
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `each consumer gets whole messages in order, while others come and go and links are lost`(
        seed: UInt64
    ) async throws {
        try await Bench.run(seed: seed, serve: Self.serve) { bench in
            // The first message of a link may have begun before it.
            let messages = bench.peripheral.stream { link in
                link.notifications(of: Bench.notifying).assembled(until: .endOfMessage()).dropFirst(1)
            }.retry(.constant(.milliseconds(300))).share()
            bench.air.faults.add(.loseLinks(every: .seconds(4)))
            let long = Recorder<[UInt8]>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for try await message in messages.prefix(40) { long.add(message) } }
                var chance = Chance(seed: seed)
                for _ in 0..<5 {
                    try await bench.time.sleep(for: .milliseconds(chance.below(2_000)))
                    for message in try await messages.collect(1 + chance.below(4)) { #expect(Self.isWhole(message)) }
                }
                try await group.waitForAll()
            }
            let numbers = long.all.map { $0[0] }
            #expect(long.all.allSatisfy(Self.isWhole) && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
            // The last one to leave ends the link.
            try await bench.time.sleep(for: .seconds(3))
            #expect(bench.centralAdapter.activity.links.isEmpty)
        }
    }
}
