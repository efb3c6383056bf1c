import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// What a peripheral does for several centrals, and what happens to it meanwhile.
@Suite(.timeLimit(.minutes(10))) struct ServingMeetingsTests {
    private static let message = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 * 31) }

    /// The characteristic that takes messages at another handle.
    private static let moved = LocalService(MessageBench.service) {
        LocalCharacteristic(BluetoothUUID(0xD003), [.read], value: .stored([1]))
        LocalCharacteristic(MessageBench.inbound, [.write, .writeWithoutResponse], value: .dynamic)
    }

    @Test(arguments: [2, 20, 38])
    func `a message with responses is whole though its characteristic moves and another central pairs meanwhile`(
        chunk: Int
    ) async throws {
        let servers = Recorder<PeripheralServer>()
        let (taken, paired) = (Recorder<[UInt8]>(), Recorder<BluetoothAddress>())
        let warnings = Recorder<BLEError>()
        try await Bench.run(description: MessageBench.description, centrals: 2, warnings: warnings) { server, _ in
            servers.add(server)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await message in server.messages(to: MessageBench.inbound) { taken.add(message.octets) }
                }
                group.addTask {
                    for try await event in server.centralEvents {
                        if case .paired(let central, _) = event { paired.add(central.address) }
                    }
                }
                try await group.waitForAll()
            }
        } _: { bench in
            let adapter = bench.air.adapter()
            let second = try await Central.open(.radio(adapter)).peripheral(bench.peripheralAdapter.address)
            try await second.withLink { other in
                try await bench.peripheral.withLink { link in
                    let chunks = Recorder<Bool>()
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await other.pair() }
                        try await link.send(Self.message, to: MessageBench.inbound) { _ in
                            chunks.add(true)
                            if chunks.all.count == chunk { _ = try? servers.all[0].replaceServices([Self.moved]) }
                        }
                        try await group.waitForAll()
                    }
                    try await link.send([1], to: MessageBench.inbound)
                }
                try await other.send([2], to: MessageBench.inbound)
            }
            try await bench.time.sleep(for: .seconds(1))
            #expect(paired.all == [adapter.address])
        }
        #expect(taken.all == [Self.message, [1], [2]])
        #expect(warnings.all.isEmpty)
    }

    @Test func `centrals of different MTUs get a message at once, beside one that never answers and one that leaves`()
        async throws
    {
        let (heard, outcomes) = (Recorder<[UInt8]>(), Recorder<BLEError.Code?>())
        let sizes = [23, 27, 64, 185, 517]
        try await Bench.run(description: MessageBench.description, centrals: sizes.count + 2) { server, _ in
            try await withThrowingDiscardingTaskGroup { group in
                for try await change in server.subscriptions(of: MessageBench.outbound) where change.isSubscribed {
                    group.addTask {
                        do {
                            try await server.send(Self.message, of: MessageBench.outbound, to: change.central)
                            outcomes.add(nil)
                        } catch let error as BLEError {
                            outcomes.add(error.code)
                        }
                    }
                }
            }
        } _: { bench in
            let address = bench.peripheralAdapter.address
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(MessageBench.outbound)?.clientConfiguration)
                    .handle
            }
            try await RawCentral.connected(from: bench.air.adapter(), to: address) { silent in
                silent.send([0x12, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 1, 0])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for size in sizes {
                        let adapter = bench.air.adapter(settings: AdapterSettings(maximumPDUSize: size))
                        let central = try await Central.open(.radio(adapter))
                        group.addTask {
                            try await central.peripheral(address).withLink { link in
                                #expect(link.mtu == size)
                                let chunks = link.notifications(of: MessageBench.outbound)
                                heard.add(try await chunks.assembled(until: .endOfMessage()).first())
                            }
                        }
                    }
                    let brief = bench.air.adapter(settings: AdapterSettings(maximumPDUSize: 23))
                    let leaving = try await Central.open(.radio(brief)).peripheral(address)
                    group.addTask {
                        try await leaving.withLink { link in
                            _ = try await link.notifications(of: MessageBench.outbound).prefix(3).collect()
                        }
                    }
                    try await group.waitForAll()
                }
                // The one that never answers is sent it in small chunks.
                try await bench.time.sleep(for: .seconds(300))
                #expect(outcomes.all.count { $0 == nil } == sizes.count + 1 && outcomes.all.count == sizes.count + 2)
            }
        }
        #expect(heard.all == sizes.map { _ in Self.message })
    }

    @Test func `messages in both directions are whole though the advertising is taken away meanwhile`() async throws {
        let (taken, sent, chunks) = (Recorder<[UInt8]>(), Recorder<Bool>(), Recorder<Bool>())
        let begun = Flag()
        var description = MessageBench.description
        description.resuming = .exponential(jitter: 0)
        let served = description
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let puppet = PuppetRadio(air.adapter())
            let peripheral = try await Central.open(.radio(air.adapter())).peripheral(puppet.radio.address)
            try await served.run(on: puppet, warning: { _ in }) { server in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await message in server.messages(to: MessageBench.inbound) { taken.add(message.octets) }
                    }
                    group.addTask {
                        let changes = server.subscriptions(of: MessageBench.outbound)
                        for try await change in changes where change.isSubscribed {
                            try await server.send(Self.message, of: MessageBench.outbound, to: change.central)
                            sent.add(true)
                        }
                    }
                    let heard = try await peripheral.withLink { link in
                        let values = link.notifications(of: MessageBench.outbound).onEach { _ in begun.set() }
                        async let heard = values.assembled(until: .endOfMessage()).first()
                        while !begun.isSet { try await time.sleep(for: .milliseconds(10)) }
                        try await link.send(Self.message, to: MessageBench.inbound) { _ in
                            chunks.add(true)
                            guard chunks.all.count == 2 else { return }
                            let cause = "taken away"
                            puppet.tellAdvertiser(.failed(BLEError(.busy, operation: "advertise", cause: cause)))
                        }
                        return try await heard
                    }
                    #expect(heard == Self.message)
                    for try await state in server.states {
                        if case .serving = state { break }
                    }
                    try await peripheral.withLink { link in try await link.send([1], to: MessageBench.inbound) }
                    try await time.sleep(for: .seconds(1))
                    group.cancelAll()
                }
            }
        }
        #expect(taken.all == [Self.message, [1]])
        #expect(sent.all.count == 1)
    }
}
