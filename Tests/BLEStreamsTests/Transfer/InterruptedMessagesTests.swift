import BLESimulator
import BLEStreams
import Testing

/// Messages in chunks whose receiver is late, or begins to listen anew, and whose senders leave or change meanwhile.
@Suite(.timeLimit(.minutes(10))) struct InterruptedMessagesTests {
    private static let mark = Array("EOM".utf8)

    @Test func `a chunk that was refused because the program was late, and is written again, is taken once`()
        async throws
    {
        let taken = Recorder<[UInt8]>()
        try await Bench.run(description: MessageBench.description) { server, bench in
            for try await message in server.messages(to: MessageBench.inbound) {
                taken.add(message.octets)
                if taken.all.count == 1 { try await bench.time.sleep(for: .seconds(25)) }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                try await link.send([1], to: MessageBench.inbound)
                let error = await bleError { try await link.write([2, 2], to: MessageBench.inbound) }
                #expect(error?.attError == .unlikely)
                try await bench.time.sleep(for: .seconds(10))
                try await link.send([2, 2], to: MessageBench.inbound)
                try await bench.time.sleep(for: .seconds(5))
            }
        }
        #expect(taken.all == [[1], [2, 2]])
    }

    private static func message(_ octet: UInt8, _ number: Int) -> [UInt8] {
        [UInt8](repeating: octet, count: 3000 + number * 700 * Int(octet))
    }

    /// Sends three messages, each on links of its own until one has stood for it.
    private static func send(_ octet: UInt8, _ kind: Link.WriteKind, to peripheral: Peripheral, _ time: VirtualTime)
        async throws
    {
        for number in 0..<3 {
            var isSent = false
            while !isSent {
                do {
                    try await peripheral.withLink { link in
                        try await link.send(message(octet, number), to: MessageBench.inbound, kind)
                        // What is written without response is on its way yet.
                        try await time.sleep(for: .seconds(1))
                    }
                    isSent = true
                } catch let error as BLEError where error.code == .disconnected {}
            }
        }
    }

    @Test(arguments: [Link.WriteKind.withResponse, .withoutResponse], 1...4 as ClosedRange<UInt64>)
    func `of messages that are taken one by one from two centrals, each is whole or none`(
        kind: Link.WriteKind,
        seed: UInt64
    ) async throws {
        let taken = Recorder<[UInt8]>()
        let warnings = Recorder<BLEError>()
        try await Bench.run(seed: seed, description: MessageBench.description, centrals: 2, warnings: warnings) {
            server,
            _ in
            while true { taken.add(try await server.messages(to: MessageBench.inbound).first().octets) }
        } _: { bench in
            let second = try await Central.open(.radio(bench.air.adapter())).peripheral(bench.peripheralAdapter.address)
            async let other: Void = Self.send(2, kind, to: second, bench.time)
            try await Self.send(1, kind, to: bench.peripheral, bench.time)
            try await other
        }
        #expect(!taken.all.isEmpty)
        for octet in 1...2 as ClosedRange<UInt8> {
            let own = taken.all.filter { $0.first == octet }
            let whole = (0..<3).map { Self.message(octet, $0) }
            #expect(own.allSatisfy { whole.contains($0) }, "\(own.map(\.count))")
            if kind == .withResponse { #expect(own == whole) }
        }
        guard kind == .withResponse else { return }
        let cause = "an iteration of its messages ended"
        #expect(warnings.all.contains { $0.code == .overflow && $0.cause.hasPrefix(cause) })
    }

    @Test func `chunks with response go to an older iteration alone, those without response to each`() async throws {
        let (taken, others) = (Recorder<[UInt8]>(), Recorder<[UInt8]>())
        try await Bench.run(description: MessageBench.description) { server, bench in
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    for try await write in server.writes() {
                        write.accept()
                        others.add(write.value)
                    }
                }
                try await bench.time.sleep(for: .seconds(1))
                for try await message in server.messages(to: MessageBench.inbound) { taken.add(message.octets) }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                try await bench.time.sleep(for: .seconds(2))
                try await link.send([1], to: MessageBench.inbound)
                try await link.send([2], to: MessageBench.inbound, .withoutResponse)
                try await bench.time.sleep(for: .seconds(1))
            }
        }
        #expect(others.all == [[1], Self.mark, [2], Self.mark])
        #expect(taken.all == [[2]])
    }

    @Test func `a message that came in one chunk with the one that was taken is not lost in silence`() async throws {
        let taken = Recorder<[UInt8]>()
        let warnings = Recorder<BLEError>()
        try await Bench.run(description: MessageBench.description, warnings: warnings) { server, _ in
            while true {
                taken.add(
                    try await server.messages(to: MessageBench.inbound, endingWith: .delimiter("\n")).first().octets
                )
            }
        } _: { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    try await link.write(Array("one\ntwo\n".utf8), to: MessageBench.inbound)
                    try await bench.time.sleep(for: .seconds(1))
                    try await link.write(Array("three\n".utf8), to: MessageBench.inbound)
                    try await bench.time.sleep(for: .seconds(1))
                    _ = try await link.read(MessageBench.inbound)
                }
            }
            #expect(error?.code == .disconnected)
        }
        #expect(taken.all == [Array("one".utf8)])
        #expect(warnings.all.contains { $0.cause.contains("before one was complete or taken") })
    }

    @Test(arguments: [Link.WriteKind.withResponse, .withoutResponse])
    func `the rest of a message is not a whole one, though the time of the iteration that has its beginning was over`(
        kind: Link.WriteKind
    ) async throws {
        let taken = Recorder<[UInt8]>()
        let warnings = Recorder<BLEError>()
        try await Bench.run(
            description: MessageBench.description,
            warnings: warnings,
            serve: MessageBench.taking(taken)
        ) { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    try await link.write([1, 1], to: MessageBench.inbound, kind)
                    try await bench.time.sleep(for: .seconds(15))
                    try await link.send([2, 2], to: MessageBench.inbound, kind)
                    try await bench.time.sleep(for: .seconds(1))
                    _ = try await link.read(MessageBench.inbound)
                }
            }
            #expect(error?.code == .disconnected)
            try await bench.peripheral.withLink { link in
                try await link.send([3], to: MessageBench.inbound)
                try await bench.time.sleep(for: .seconds(1))
            }
        }
        #expect(taken.all == [[3]])
        #expect(warnings.all.contains { $0.cause.contains("before one was complete or taken") })
    }

    @Test func `a message goes on in chunks as it has begun when the MTU grows, and the next one in larger ones`()
        async throws
    {
        let message = (0..<6000).map { UInt8(truncatingIfNeeded: $0 * 31) }
        try await Bench.run(description: MessageBench.description) { server, _ in
            for try await change in server.subscriptions(of: MessageBench.outbound) where change.isSubscribed {
                for _ in 0..<2 { try await server.send(message, of: MessageBench.outbound, to: change.central) }
            }
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(MessageBench.outbound)).valueHandle + 1
            }
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                central.send([0x12, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 1, 0])
                var (messages, chunks) = ([[[UInt8]]](), [[UInt8]]())
                while messages.count < 2, let pdu = await central.next() {
                    guard pdu.first == 0x1B else { continue }
                    chunks.append(Array(pdu.dropFirst(3)))
                    if messages.isEmpty, chunks.count == 20 { central.send([0x02, 0x05, 0x02]) }
                    guard chunks.last == Self.mark else { continue }
                    messages.append(chunks.dropLast())
                    chunks = []
                }
                #expect(messages.map { Array($0.joined()) } == [message, message])
                #expect(messages.map { $0.map(\.count).max() } == [20, 512])
            }
        }
    }

    @Test func `a message that waits when its central has left is whole, though another one begins meanwhile`()
        async throws
    {
        let taken = Recorder<[UInt8]>()
        try await Bench.run(description: MessageBench.description, centrals: 2) { server, bench in
            for try await message in server.messages(to: MessageBench.inbound) {
                taken.add(message.octets)
                if taken.all.count == 1 { try await bench.time.sleep(for: .seconds(60)) }
            }
        } _: { bench in
            let second = try await Central.open(.radio(bench.air.adapter())).peripheral(bench.peripheralAdapter.address)
            try await second.withLink { other in
                try await bench.peripheral.withLink { link in
                    try await link.send([0], to: MessageBench.inbound, .withoutResponse)
                    try await bench.time.sleep(for: .seconds(1))
                    try await link.write([1, 1], to: MessageBench.inbound, .withoutResponse)
                    try await bench.time.sleep(for: .seconds(1))
                    try await other.write([9], to: MessageBench.inbound, .withoutResponse)
                    try await bench.time.sleep(for: .seconds(1))
                    try await link.write([2, 2], to: MessageBench.inbound, .withoutResponse)
                    try await link.write(Self.mark, to: MessageBench.inbound, .withoutResponse)
                    try await bench.time.sleep(for: .seconds(1))
                }
                try await bench.time.sleep(for: .seconds(90))
                try await other.write(Self.mark, to: MessageBench.inbound, .withoutResponse)
                try await bench.time.sleep(for: .seconds(5))
            }
        }
        #expect(taken.all == [[0], [1, 1, 2, 2], [9]])
    }

    @Test func `a message that a closure still judges when its central has left is whole too`() async throws {
        let taken = Recorder<[UInt8]>()
        let times = Recorder<VirtualTime>()
        let judging = MessageBench.judging { _, _ in try await times.all[0].sleep(for: .seconds(3)) }
        try await Bench.run(description: judging, centrals: 2) { server, bench in
            times.add(bench.time)
            for try await message in server.messages(to: MessageBench.inbound) { taken.add(message.octets) }
        } _: { bench in
            let second = try await Central.open(.radio(bench.air.adapter())).peripheral(bench.peripheralAdapter.address)
            try await second.withLink { other in
                _ = try await other.discover()
                try await bench.peripheral.withLink { link in
                    for chunk in [[1, 1], [2, 2], Self.mark] as [[UInt8]] {
                        try await link.write(chunk, to: MessageBench.inbound, .withoutResponse)
                    }
                    try await bench.time.sleep(for: .seconds(1))
                }
                // Judged between the second chunk and the mark.
                try await bench.time.sleep(for: .milliseconds(2500))
                try await other.write([9], to: MessageBench.inbound, .withoutResponse)
                try await bench.time.sleep(for: .seconds(20))
                try await other.write(Self.mark, to: MessageBench.inbound, .withoutResponse)
                try await bench.time.sleep(for: .seconds(10))
            }
        }
        #expect(taken.all == [[1, 1, 2, 2], [9]])
    }

    @Test(arguments: [Link.WriteKind.withResponse, .withoutResponse])
    func `beside one that writes slowly, one leaves amid its messages and begins them anew`(kind: Link.WriteKind)
        async throws
    {
        let taken = Recorder<(sender: BluetoothAddress, octets: [UInt8])>()
        let warnings = Recorder<BLEError>()
        let whole = (0..<3).map { [UInt8](repeating: UInt8($0), count: 1000 + $0) }
        try await Bench.run(description: MessageBench.description, centrals: 2, warnings: warnings) { server, bench in
            for try await message in server.messages(to: MessageBench.inbound) {
                taken.add((message.central.address, message.octets))
                try await bench.time.sleep(for: .milliseconds(700))
            }
        } _: { bench in
            let other = bench.air.adapter()
            let second = try await Central.open(.radio(other)).peripheral(bench.peripheralAdapter.address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await second.withLink { link in
                        for octet in 0..<4 as Range<UInt8> {
                            try await link.write([octet, octet], to: MessageBench.inbound, kind)
                            try await bench.time.sleep(for: .seconds(7))
                        }
                        try await link.send([4], to: MessageBench.inbound, kind)
                        try await bench.time.sleep(for: .seconds(5))
                    }
                }
                for (number, message) in whole.enumerated() {
                    try await bench.peripheral.withLink { link in
                        for _ in 0...number { try await link.write([9, 9, 9], to: MessageBench.inbound, kind) }
                    }
                    try await bench.peripheral.withLink { link in
                        try await link.send(message, to: MessageBench.inbound, kind)
                        try await bench.time.sleep(for: .seconds(5))
                    }
                }
                try await group.waitForAll()
            }
            #expect(taken.all.filter { $0.sender == bench.centralAdapter.address }.map(\.octets) == whole)
            #expect(taken.all.filter { $0.sender == other.address }.map(\.octets) == [[0, 0, 1, 1, 2, 2, 3, 3, 4]])
        }
        #expect(warnings.all.isEmpty)
    }

    @Test func `the rest of a message that is too long is not taken for a whole one, though its central has left`()
        async throws
    {
        let taken = Recorder<[UInt8]>()
        let warnings = Recorder<BLEError>()
        try await Bench.run(description: MessageBench.description, warnings: warnings) { server, bench in
            for try await message in server.messages(to: MessageBench.inbound, maximumSize: 10) {
                taken.add(message.octets)
                if taken.all.count == 1 { try await bench.time.sleep(for: .seconds(60)) }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                try await link.send([0], to: MessageBench.inbound, .withoutResponse)
                try await bench.time.sleep(for: .seconds(1))
                // One message in two chunks.
                let beginning = [UInt8](repeating: 1, count: 20)
                try await link.write(beginning, to: MessageBench.inbound, .withoutResponse)
                try await link.send([2, 2], to: MessageBench.inbound, .withoutResponse)
                try await bench.time.sleep(for: .seconds(1))
            }
            try await bench.time.sleep(for: .seconds(90))
            try await bench.peripheral.withLink { link in
                try await link.send([3], to: MessageBench.inbound, .withoutResponse)
                try await bench.time.sleep(for: .seconds(1))
            }
        }
        #expect(taken.all == [[0], [3]])
        #expect(warnings.all.map(\.code) == [.overflow])
        #expect(warnings.all.first?.cause.contains("longer than 10 octets") == true)
    }
}
