import BLESimulator
import BLEStreams
import Testing

/// Messages in chunks in the role of the peripheral: sent with progress, and taken from several centrals at once.
@Suite(.timeLimit(.minutes(10))) struct ServedMessagesTests {
    private static let message = (0..<6000).map { UInt8(truncatingIfNeeded: $0 * 31) }

    private func expectWhole(_ progress: [CommandProgress]) {
        let completed = progress.compactMap(\.completed)
        #expect(completed == completed.sorted() && completed.last == Self.message.count)
        #expect(progress.allSatisfy { $0.total == Self.message.count })
        // All of it is told once, in the end.
        #expect(completed.count { $0 == Self.message.count } == 1)
    }

    @Test(arguments: [23, 185, 517])
    func `a sender hears how far it is, and ends when the radio has all of it`(mtu: Int) async throws {
        let progress = Recorder<CommandProgress>()
        let waiting = Recorder<Int>()
        try await MessageBench.run(mtu: mtu) { bench in
            let received = try await bench.serving { central in
                try await bench.server.send(Self.message, of: MessageBench.outbound, to: central) { progress.add($0) }
                waiting.add(central.notifications.waiting)
            } _: {
                try await bench.link.notifications(of: MessageBench.outbound).assembled(until: .endOfMessage()).first()
            }
            #expect(received == Self.message)
        }
        expectWhole(progress.all)
        #expect(progress.all.count >= Self.message.count / min(512, mtu - 3))
        #expect(waiting.all == [0])
    }

    @Test func `an empty message is its mark, and is told as complete`() async throws {
        let progress = Recorder<CommandProgress>()
        try await MessageBench.run { bench in
            let received = try await bench.serving { central in
                try await bench.server.send([], of: MessageBench.outbound, to: central) { progress.add($0) }
            } _: {
                try await bench.link.notifications(of: MessageBench.outbound).assembled(until: .endOfMessage()).first()
            }
            #expect(received == [])
        }
        #expect(progress.all.map(\.completed) == [0] && progress.all.map(\.total) == [0])
    }

    @Test func `a central that agrees on a smaller MTU in the middle, which cuts chunks, is an error for the sender`()
        async throws
    {
        let errors = Recorder<BLEError>()
        try await Bench.run(description: MessageBench.description) { server, _ in
            for try await change in server.subscriptions(of: MessageBench.outbound) where change.isSubscribed {
                let long = [UInt8](repeating: 7, count: 1 << 16)
                let error = await bleError {
                    try await server.send(long, of: MessageBench.outbound, to: change.central)
                }
                if let error { errors.add(error) }
            }
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(MessageBench.outbound)?.clientConfiguration)
                    .handle
            }
            let configuration = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                await central.narrow(from: 0xF7, to: 0x32, subscribedBy: configuration)
                try await bench.time.sleep(for: .seconds(60))
            }
        }
        #expect(errors.all.map(\.code) == [.overflow])
        #expect(errors.all.first?.cause.contains("a smaller MTU") == true)
        #expect(errors.all.first?.isFinal == true)
    }

    @Test func `a link that is lost in the middle is an error for the sender`() async throws {
        let errors = Recorder<BLEError>()
        try await Bench.run(description: MessageBench.description) { server, _ in
            for try await change in server.subscriptions(of: MessageBench.outbound) where change.isSubscribed {
                let long = [UInt8](repeating: 7, count: 1 << 20)
                let error = await bleError {
                    try await server.send(long, of: MessageBench.outbound, to: change.central)
                }
                if let error { errors.add(error) }
            }
        } _: { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    var chunks = 0
                    for try await _ in link.notifications(of: MessageBench.outbound) {
                        chunks += 1
                        if chunks == 50 { bench.air.faults.add(.outOfRange()) }
                    }
                }
            }
            #expect(error?.code == .disconnected)
            try await bench.time.sleep(for: .seconds(60))
        }
        #expect(errors.all.map(\.operation) == ["send"] && errors.all.map(\.code) == [.disconnected])
    }

    /// A radio that takes few chunks ahead, and small ones.
    private static let narrow = AdapterSettings(maximumPDUSize: 23, sendBufferSize: 200)

    @Test(arguments: [20, 295])
    func `a receiver that unsubscribes before it has all of it is an error for the sender`(count: Int) async throws {
        let errors = Recorder<BLEError>()
        let progress = Recorder<CommandProgress>()
        try await Bench.run(description: MessageBench.description, settings: Self.narrow) { server, _ in
            for try await change in server.subscriptions(of: MessageBench.outbound) where change.isSubscribed {
                let error = await bleError {
                    try await server.send(Self.message, of: MessageBench.outbound, to: change.central) {
                        progress.add($0)
                    }
                }
                if let error { errors.add(error) }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let heard = try await link.notifications(of: MessageBench.outbound).prefix(count).collect()
                #expect(heard.count == count)
                try await bench.time.sleep(for: .seconds(5))
            }
        }
        #expect(errors.all.map(\.code) == [.notSupported] && errors.all.map(\.operation) == ["send"])
        #expect(progress.all.allSatisfy { $0.completed != Self.message.count })
    }

    @Test func `a receiver that unsubscribes and subscribes at once is not sent the rest of it`() async throws {
        let outcomes = Recorder<String>()
        try await Bench.run(description: MessageBench.description, settings: Self.narrow) { server, _ in
            for try await change in server.subscriptions(of: MessageBench.outbound) where change.isSubscribed {
                do {
                    try await server.send(Self.message, of: MessageBench.outbound, to: change.central)
                    outcomes.add("sent")
                } catch let error as BLEError {
                    outcomes.add(error.cause)
                }
            }
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(MessageBench.outbound)).valueHandle + 1
            }
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                let heard = await central.hearAnew(configuring: handle) { $0.suffix(3) == Array("EOM".utf8) }
                #expect(heard == Self.message + Array("EOM".utf8))
                try await bench.time.sleep(for: .seconds(5))
            }
        }
        #expect(outcomes.all == ["the central unsubscribed before it had all of it", "sent"])
    }

    @Test(arguments: [3, 50, 200])
    func `a message goes on while other services come, and is whole`(chunk: Int) async throws {
        let services = MessageBench.description.services
        let more = LocalService(BluetoothUUID(0xE000)) { LocalCharacteristic(BluetoothUUID(0xE001), [.read]) }
        try await MessageBench.run(mtu: 23) { bench in
            let chunks = Recorder<Bool>()
            let received = try await bench.serving { central in
                try await bench.server.send(Self.message, of: MessageBench.outbound, to: central) { _ in
                    chunks.add(true)
                    if chunks.all.count == chunk { _ = try? bench.server.replaceServices(services + [more]) }
                }
            } _: {
                try await bench.link.notifications(of: MessageBench.outbound).assembled(until: .endOfMessage()).first()
            }
            #expect(received == Self.message)
        }
    }

    @Test(arguments: [Link.WriteKind.withResponse, .withoutResponse])
    func `messages of two centrals are put together each by itself`(kind: Link.WriteKind) async throws {
        let told = Recorder<CommandProgress>()
        let taken = Recorder<(BluetoothAddress, [UInt8])>()
        try await Bench.run(description: MessageBench.description, centrals: 2) { server, _ in
            for try await message in server.messages(to: MessageBench.inbound) {
                taken.add((message.central.address, message.octets))
            }
        } _: { bench in
            let other = bench.air.adapter()
            let second = try await Central.open(.radio(other)).peripheral(bench.peripheralAdapter.address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (peripheral, octet) in [(bench.peripheral, UInt8(1)), (second, 2)] {
                    group.addTask {
                        try await peripheral.withLink { link in
                            for number in 0..<3 {
                                let message = [UInt8](repeating: octet, count: 3000 + number)
                                try await link.send(message, to: MessageBench.inbound, kind) { progress in
                                    if octet == 1 { told.add(progress) }
                                }
                            }
                            // The last one is on its way yet.
                            try await bench.time.sleep(for: .seconds(5))
                        }
                    }
                }
                try await group.waitForAll()
            }
            for (address, octet) in [(bench.centralAdapter.address, UInt8(1)), (other.address, 2)] {
                let own = taken.all.filter { $0.0 == address }.map(\.1)
                #expect(own == (0..<3).map { [UInt8](repeating: octet, count: 3000 + $0) })
            }
            #expect(told.all.last?.fraction == 1)
        }
    }

    @Test func `one whose message is too long loses its link, and the others' go on`() async throws {
        let taken = Recorder<[UInt8]>()
        let warnings = Recorder<BLEError>()
        try await Bench.run(description: MessageBench.description, centrals: 2, warnings: warnings) { server, _ in
            for try await message in server.messages(to: MessageBench.inbound, maximumSize: 1000) {
                taken.add(message.octets)
            }
        } _: { bench in
            let second = try await Central.open(.radio(bench.air.adapter())).peripheral(bench.peripheralAdapter.address)
            try await second.withLink { calm in
                let error = await bleError {
                    try await bench.peripheral.withLink { link in
                        try await link.send([UInt8](repeating: 1, count: 5000), to: MessageBench.inbound)
                    }
                }
                #expect(error?.code == .disconnected)
                try await calm.send([UInt8](repeating: 2, count: 1000), to: MessageBench.inbound)
                try await bench.time.sleep(for: .seconds(5))
            }
            #expect(taken.all == [[UInt8](repeating: 2, count: 1000)])
            #expect(warnings.all.map(\.code) == [.overflow])
            #expect(warnings.all.first?.cause.contains("longer than 1000 octets") == true)
        }
    }

    @Test func `one that writes faster than its messages are taken loses its link and no octet in silence`()
        async throws
    {
        let taken = Recorder<[UInt8]>()
        let warnings = Recorder<BLEError>()
        try await Bench.run(description: MessageBench.description, warnings: warnings) { server, bench in
            for try await message in server.messages(to: MessageBench.inbound) {
                if taken.all.isEmpty { try await bench.time.sleep(for: .seconds(3600)) }
                taken.add(message.octets)
            }
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(MessageBench.inbound)).valueHandle
            }
            let head: [UInt8] = [0x52, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { flooding in
                // Messages of one octet and their marks; some chunks in the middle find no room.
                try await flooding.flood(10_000, bench.time) { number in
                    head + (number.isMultiple(of: 2) ? [UInt8(number % 251)] : Array("EOM".utf8))
                }
                try await bench.time.sleep(for: .seconds(7200))
                #expect(flooding.end?.kind == .closedByPeer)
            }
            // What came whole before the gap, in order, and nothing after it.
            #expect(taken.all == (0..<taken.all.count).map { [UInt8(($0 * 2) % 251)] } && taken.all.count > 2000)
            #expect(warnings.all.last?.cause.contains("chunks were lost") == true)
        }
    }

    @Test func `services that are replaced while one writes without response cost its link, and no octet in silence`()
        async throws
    {
        let services = MessageBench.description.services
        let more = LocalService(BluetoothUUID(0xE000)) { LocalCharacteristic(BluetoothUUID(0xE001), [.read]) }
        let (taken, warnings) = (Recorder<[UInt8]>(), Recorder<BLEError>())
        let gaps = Recorder<Int>()
        try await Bench.run(description: MessageBench.description, warnings: warnings) { server, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await message in server.messages(to: MessageBench.inbound) { taken.add(message.octets) }
                }
                group.addTask {
                    var count = 0
                    for try await write in server.writes(to: MessageBench.inbound).withGaps() {
                        if case .gap(let gap) = write { gaps.add(gap.dropped) }
                        count += 1
                        if count == 20 { try server.replaceServices(services + [more]) }
                    }
                }
                try await group.waitForAll()
            }
        } _: { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    for _ in 0..<10 { try await link.send(Self.message, to: MessageBench.inbound, .withoutResponse) }
                    try await bench.time.sleep(for: .seconds(5))
                }
            }
            #expect(error?.code == .disconnected)
            // It knows the services now.
            try await bench.peripheral.withLink { link in
                try await link.send(Self.message, to: MessageBench.inbound, .withoutResponse)
                try await bench.time.sleep(for: .seconds(5))
            }
        }
        #expect(taken.all.allSatisfy { $0 == Self.message } && taken.all.count == 2)
        #expect(warnings.all.map(\.cause).filter { $0.hasPrefix("the services were replaced while") }.count == 1)
        #expect(!gaps.all.isEmpty)
    }

    @Test func `a chunk without response that is too long for the characteristic costs the link too`() async throws {
        let taken = Recorder<[UInt8]>()
        let warnings = Recorder<BLEError>()
        let short = LocalPeripheral(name: "Short") {
            LocalService(MessageBench.service) {
                LocalCharacteristic(MessageBench.inbound, [.writeWithoutResponse], value: .dynamic, maximumLength: 20)
            }
        }
        try await Bench.run(description: short, warnings: warnings) { server, _ in
            for try await message in server.messages(to: MessageBench.inbound) { taken.add(message.octets) }
        } _: { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    try await link.send(Self.message, to: MessageBench.inbound, .withoutResponse)
                    try await bench.time.sleep(for: .seconds(5))
                    try await link.expect(MessageBench.inbound, reads: [])
                }
            }
            #expect(error?.code == .disconnected)
        }
        #expect(taken.all.isEmpty)
        #expect(warnings.all.map(\.remedy) == ["Declare the characteristic with a larger maximumLength."])
    }
}
