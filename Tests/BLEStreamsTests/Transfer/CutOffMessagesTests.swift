import BLESimulator
import BLEStreams
import Testing

/// Messages that are cut off on their way, and what is sent behind them on the same link.
@Suite(.timeLimit(.minutes(10))) struct CutOffMessagesTests {
    private static let message = (0..<3000).map { UInt8(truncatingIfNeeded: $0 * 7) }
    private static let whole = [UInt8]("whole".utf8)

    /// A peripheral that takes messages, on an air where the answer to the fourth chunk comes late, once.
    private static func run(
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws -> [[UInt8]] {
        let taken = Recorder<[UInt8]>()
        try await Bench.run(description: MessageBench.description) { server, _ in
            for try await message in server.messages(to: MessageBench.inbound) { taken.add(message.octets) }
        } _: { bench in
            bench.air.faults.add(.delay(.opcode(0x13), by: .seconds(8)).skipping(3).times(1))
            try await body(bench)
            try await bench.time.sleep(for: .seconds(1))
        }
        return taken.all
    }

    /// Begins to send a message, and gives it up in the middle.
    private static func cutOff(_ time: VirtualTime, _ send: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await #expect(throws: CancellationError.self) { try await send() } }
            try await time.sleep(for: .seconds(4))
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test(arguments: QueueDecoration.all.filter { $0.has(.connecting) && $0.limitsEachAttempt })
    func `a queue that limits and retries each attempt sends it again on a new link`(
        decoration: QueueDecoration
    ) async throws {
        let taken = try await Self.run { bench in
            try await bench.peripheral.withQueue { queue in
                let send = CommandBlock.block("send") { try await $0.send(Self.message, to: MessageBench.inbound) }
                try await decoration.decorate(queue, limit: .seconds(3), authorize: { _ in }).run(send)
            }
        }
        #expect(taken == [Self.message])
    }

    @Test func `behind a part the next message is refused, and the link ends`() async throws {
        let taken = try await Self.run { bench in
            try await bench.peripheral.withLink { link in
                try await Self.cutOff(bench.time) { try await link.send(Self.message, to: MessageBench.inbound) }
                // However it is named.
                let name = CharacteristicReference.uuid(MessageBench.inbound, in: MessageBench.service)
                let error = await bleError { try await link.send(Self.whole, to: name) }
                #expect(error?.code == .disconnected && error?.cause.contains("cut off") == true)
                let next = await bleError { try await link.send(Self.whole, to: MessageBench.inbound) }
                #expect(next?.code == .disconnected)
            }
            try await bench.peripheral.withLink { try await $0.send(Self.whole, to: MessageBench.inbound) }
        }
        #expect(taken == [Self.whole])
    }

    @Test func `behind a part it is refused at another handle too, where the characteristic is now`() async throws {
        let moved = LocalService(MessageBench.service) {
            LocalCharacteristic(BluetoothUUID(0xD003), [.read], value: .stored([1]))
            LocalCharacteristic(MessageBench.inbound, [.write, .writeWithoutResponse], value: .dynamic)
        }
        let (servers, taken) = (Recorder<PeripheralServer>(), Recorder<[UInt8]>())
        try await Bench.run(description: MessageBench.description) { server, _ in
            servers.add(server)
            for try await message in server.messages(to: MessageBench.inbound) { taken.add(message.octets) }
        } _: { bench in
            bench.air.faults.add(.delay(.opcode(0x13), by: .seconds(8)).skipping(3).times(1))
            try await bench.peripheral.withLink { link in
                try await Self.cutOff(bench.time) { try await link.send(Self.message, to: MessageBench.inbound) }
                // The late answer.
                try await bench.time.sleep(for: .seconds(10))
                try servers.all[0].replaceServices([moved])
                try await bench.time.sleep(for: .seconds(5))
                let error = await bleError { try await link.send(Self.whole, to: MessageBench.inbound) }
                #expect(error?.code == .disconnected && error?.cause.contains("cut off") == true)
            }
            try await bench.peripheral.withLink { try await $0.send(Self.whole, to: MessageBench.inbound) }
            try await bench.time.sleep(for: .seconds(1))
        }
        #expect(taken.all == [Self.whole])
    }

    /// A link whose peer answers writes at once: all, only the first one, or none.
    private static func link(
        _ time: VirtualTime,
        isResumed: Bool = false,
        answersAll: Bool = true,
        answersFirst: Bool = true
    ) -> ScriptedLink {
        let hasAnswered = Flag()
        if !answersFirst { hasAnswered.set() }
        return ScriptedLink(time, isResumed: isResumed) { request in
            switch request[0] {
            case 0x02: return [(.milliseconds(10), [0x03, 0x05, 0x02])]
            case 0x04: return [(.milliseconds(10), [0x01, 0x04, request[1], request[2], 0x0A])]
            case 0x12 where answersAll || !hasAnswered.isSet:
                hasAnswered.set()
                return [(.milliseconds(10), [0x13])]
            default: return []
            }
        }
    }

    @Test func `a part is known on a link that is taken over, and a new one begins without`() async throws {
        try await VirtualTime.run { time in
            let links = [Self.link(time, answersAll: false), Self.link(time, isResumed: true), Self.link(time)]
            let central = try await Central.open(.radio(ScriptedRadio(time, links)))
            let peripheral = central.peripheral(links[0].peer)
            try await peripheral.withLink { link in
                try await Self.cutOff(time) { try await link.send(Self.message, to: .handle(11)) }
            }
            try await peripheral.withLink { link in
                let error = await bleError { try await link.send(Self.message, to: .handle(11)) }
                #expect(error?.code == .disconnected && error?.cause.contains("cut off") == true)
            }
            try await peripheral.withLink { try await $0.send(Self.message, to: .handle(11)) }
            #expect(links.map { link in link.sent.count { $0[0] == 0x12 } } == [2, 0, 7])
        }
    }

    @Test func `a first chunk on its way when a link is given up is known on the one that takes it over`() async throws
    {
        try await VirtualTime.run { time in
            let silent = Self.link(time, answersAll: false, answersFirst: false)
            let links = [silent, Self.link(time, isResumed: true), Self.link(time)]
            let central = try await Central.open(.radio(ScriptedRadio(time, links)))
            let peripheral = central.peripheral(silent.peer)
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await peripheral.withLink { link in
                    group.addTask {
                        let error = await bleError { try await link.send(Self.message, to: .handle(11)) }
                        #expect(error?.code == .disconnected)
                    }
                    try await time.sleep(for: .seconds(4))
                }
                try await group.waitForAll()
            }
            try await peripheral.withLink { link in
                let error = await bleError { try await link.send(Self.message, to: .handle(11)) }
                #expect(error?.code == .disconnected && error?.cause.contains("cut off") == true)
            }
            try await peripheral.withLink { try await $0.send(Self.message, to: .handle(11)) }
            #expect(links.map { link in link.sent.count { $0[0] == 0x12 } } == [1, 0, 7])
        }
    }

    @Test func `a part is gone with a link that the peer has ended, even if the next one is taken over`() async throws {
        try await VirtualTime.run { time in
            let hasAnswered = Flag()
            let first = ScriptedLink(time, endsOn: 0x0A) { request in
                switch request[0] {
                case 0x02: return [(.milliseconds(10), [0x03, 0x05, 0x02])]
                case 0x12:
                    let delay = hasAnswered.isSet ? Duration.seconds(8) : .milliseconds(10)
                    hasAnswered.set()
                    return [(delay, [0x13])]
                default: return []
                }
            }
            // Another program has connected meanwhile.
            let second = Self.link(time, isResumed: true)
            let central = try await Central.open(.radio(ScriptedRadio(time, [first, second])))
            let peripheral = central.peripheral(first.peer)
            try await peripheral.withLink { link in
                try await Self.cutOff(time) { try await link.send(Self.message, to: .handle(11)) }
                let error = await bleError { _ = try await link.read(.handle(11)) }
                #expect(error?.code == .disconnected)
            }
            try await peripheral.withLink { try await $0.send(Self.message, to: .handle(11)) }
            let taken = second.sent.filter { $0[0] == 0x12 }.flatMap { $0.dropFirst(3) }
            #expect(taken == Self.message + Array("EOM".utf8))
        }
    }

    @Test func `a session sends the next message on its next link`() async throws {
        let taken = try await Self.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                try await Self.cutOff(bench.time) { try await session.send(Self.message, to: MessageBench.inbound) }
                let error = await bleError { try await session.send(Self.whole, to: MessageBench.inbound) }
                #expect(error?.code == .disconnected)
                try await session.send(Self.whole, to: MessageBench.inbound)
            }
        }
        #expect(taken == [Self.whole])
    }

    @Test func `a program that knows how to begin anew may go on`() async throws {
        let taken = try await Self.run { bench in
            try await bench.peripheral.withLink { link in
                try await Self.cutOff(bench.time) { try await link.send(Self.message, to: MessageBench.inbound) }
                try await link.send(Self.whole, to: MessageBench.inbound, beginsAnew: true)
                try await link.send(Self.whole, to: MessageBench.inbound)
            }
        }
        #expect(taken.count == 2 && taken[0].suffix(5) == Self.whole[...] && taken[1] == Self.whole)
    }

    @Test func `one that was refused before anything was sent, or fits into a chunk, leaves no part`() async throws {
        let taken = try await Self.run { bench in
            try await bench.peripheral.withLink { link in
                let refused = await bleError { try await link.send(Self.message, to: Bench.readOnly) }
                #expect(refused?.code == .notFound)
                let again = await bleError { try await link.send(Self.message, to: Bench.readOnly) }
                #expect(again?.code == .notFound)
                try await link.send(Self.whole, to: MessageBench.inbound)
            }
        }
        #expect(taken == [Self.whole])
    }
}

// MARK: - To centrals

extension CutOffMessagesTests {
    /// Sends each central half a message when it first subscribes, and then always a whole one.
    private static func serve(
        _ server: PeripheralServer,
        _ bench: Bench,
        _ ends: Recorder<BLEError.Code?>,
        waitsForNext: Bool
    ) async throws {
        let long = (0..<30_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        var isFirst = true
        for try await change in server.subscriptions(of: MessageBench.outbound) where change.isSubscribed {
            let central = change.central
            if isFirst {
                try await cutOff(bench.time) { try await server.send(long, of: MessageBench.outbound, to: central) }
                isFirst = false
                if waitsForNext { continue }
            }
            do {
                try await server.send(whole, of: MessageBench.outbound, to: central)
                ends.add(nil)
            } catch let error as BLEError {
                ends.add(error.code)
            }
        }
    }

    private static func receive(_ link: Link) async throws -> [UInt8] {
        try await link.notifications(of: MessageBench.outbound).assembled(until: .endOfMessage()).first()
    }

    private static let narrow = AdapterSettings(maximumPDUSize: 23)

    @Test func `a central gets no other message behind a part on the same link`() async throws {
        let ends = Recorder<BLEError.Code?>()
        try await Bench.run(description: MessageBench.description, settings: Self.narrow) {
            try await Self.serve($0, $1, ends, waitsForNext: false)
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError { _ = try await Self.receive(link) }
                #expect(error?.code == .disconnected)
            }
            let message = try await bench.peripheral.withLink { try await Self.receive($0) }
            #expect(message == Self.whole)
        }
        #expect(ends.all == [.disconnected, nil])
    }

    @Test func `a central that subscribes anew gets the next message on the same link`() async throws {
        let ends = Recorder<BLEError.Code?>()
        try await Bench.run(description: MessageBench.description, settings: Self.narrow) {
            try await Self.serve($0, $1, ends, waitsForNext: true)
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError {
                    _ = try await link.notifications(of: MessageBench.outbound).timeout(.seconds(20))
                        .assembled(until: .endOfMessage()).first()
                }
                #expect(error?.code == .timedOut)
                let message = try await Self.receive(link)
                #expect(message == Self.whole)
            }
        }
        #expect(ends.all == [nil])
    }
}
