import BLESimulator
import BLEStreams
import Foundation
import Testing

/// What a peripheral keeps of centrals that are bonded, and of nobody else.
@Suite(.timeLimit(.minutes(10))) struct BondedCentralTests {
    private static let encrypted = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)

    /// The handle of a Client Characteristic Configuration, as it is in PDUs.
    private static func configuration(of peripheral: Peripheral) async throws -> [UInt8] {
        let handle = try await peripheral.withLink { link in
            try #require(try await link.discover().characteristic(Bench.notifying)?.clientConfiguration).handle
        }
        return [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
    }

    /// The value of a Client Characteristic Configuration on a second link, after notifications were switched on in the
    /// first one and the link was lost.
    private func configuration(bonded: Bool) async throws -> [UInt8]? {
        let found = Found()
        try await Bench.run { bench in
            if bonded {
                bench.air.setSecurity(Self.encrypted, between: bench.centralAdapter, and: bench.peripheralAdapter)
            }
            let address = bench.peripheralAdapter.address
            let name = try await Self.configuration(of: bench.peripheral)
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                let answer = await central.ask([0x12] + name + [0x01, 0x00])
                #expect(answer == [0x13])
            }
            try await bench.time.sleep(for: .seconds(1))
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                await found.set(await central.ask([0x0A] + name))
            }
        }
        return await found.value
    }

    private actor Found {
        private(set) var value: [UInt8]?
        func set(_ value: [UInt8]?) { self.value = value }
    }

    @Test func `a bonded central finds what it had configured, another one does not`() async throws {
        let kept = try await configuration(bonded: true)
        #expect(kept == [0x0B, 0x01, 0x00])
        let fresh = try await configuration(bonded: false)
        #expect(fresh == [0x0B, 0x00, 0x00])
    }

    @Test func `a bonded central is sent what it had subscribed to, without asking again`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(1)) { bench in
            bench.air.setSecurity(Self.encrypted, between: bench.centralAdapter, and: bench.peripheralAdapter)
            let address = bench.peripheralAdapter.address
            let name = try await Self.configuration(of: bench.peripheral)
            for round in 0..<2 {
                try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                    if round == 0 {
                        central.send([0x12] + name + [0x01, 0x00])
                        _ = await central.next()
                    }
                    let value = await central.next()
                    #expect(value?.first == 0x1B && value?.count == 7)
                }
                try await bench.time.sleep(for: .seconds(1))
            }
        }
    }

    @Test func `two peripherals on two adapters keep what one central has configured, each for itself`() async throws {
        let other = LocalPeripheral(name: "Other") {
            LocalService(BluetoothUUID(0xD000)) { LocalCharacteristic(Bench.notifying, [.notify]) }
        }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, visitor, far) = (air.adapter(), air.adapter(), [air.adapter(), air.adapter()])
            for adapter in far { air.setSecurity(Self.encrypted, between: near, and: adapter) }
            let store = PeerStore.inMemory()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (adapter, description) in zip(far, [Bench.description, other]) {
                    group.addTask {
                        try await description.run(on: .radio(adapter), store: store) { server in
                            for try await _ in server.centralEvents {}
                        }
                    }
                }
                let central = try await Central.open(.radio(visitor), store: .inMemory())
                var configurations: [[UInt8]] = []
                for adapter in far {
                    configurations.append(try await Self.configuration(of: central.peripheral(adapter.address)))
                }
                for (adapter, configuration) in zip(far, configurations) {
                    try await RawCentral.connected(from: near, to: adapter.address) { central in
                        let answer = await central.ask([0x12] + configuration + [0x01, 0x00])
                        #expect(answer == [0x13])
                    }
                    try await time.sleep(for: .seconds(5))
                }
                for (adapter, configuration) in zip(far, configurations) {
                    try await RawCentral.connected(from: near, to: adapter.address) { central in
                        let kept = await central.ask([0x0A] + configuration)
                        #expect(kept == [0x0B, 0x01, 0x00])
                    }
                    try await time.sleep(for: .seconds(5))
                }
                group.cancelAll()
            }
        }
    }

    @Test func `services that changed between two runs are told to a bonded central that wants to know`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "served-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            air.setSecurity(Self.encrypted, between: near, and: far)
            for round in 0..<2 {
                let store = PeerStore(folder: folder)
                var description = Bench.description
                if round == 1 { description.services.removeLast() }
                if round == 1 { description.services = [LocalService(BluetoothUUID(0xD000))] }
                let served = description
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await served.run(on: .radio(far), store: store) { server in
                            for try await _ in server.centralEvents {}
                        }
                    }
                    try await RawCentral.connected(from: near, to: far.address) { central in
                        if round == 0 {
                            // Service Changed lies behind the Generic Access service: 2A05 at 8, its configuration at
                            // 9.
                            let answer = await central.ask([0x12, 0x09, 0x00, 0x02, 0x00])
                            #expect(answer == [0x13])
                        } else {
                            let told = await central.next()
                            #expect(told == [0x1D, 0x08, 0x00, 0x01, 0x00, 0xFF, 0xFF])
                            central.send([0x1E])
                        }
                    }
                    group.cancelAll()
                }
                await store.flush()
            }
        }
    }

    @Test func `a central that nothing tells of new services keeps what it has configured of those that stay`()
        async throws
    {
        let more = LocalService(BluetoothUUID(0xD000)) { LocalCharacteristic(BluetoothUUID(0xD001), [.read]) }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                try server.replaceServices(Bench.description.services + [more])
            }
        }
        try await Bench.run(serve: serve) { bench in
            bench.air.setSecurity(Self.encrypted, between: bench.centralAdapter, and: bench.peripheralAdapter)
            let address = bench.peripheralAdapter.address
            // Another central looks: the library's own subscribes to Service Changed.
            let visitor = try await Central.open(.radio(bench.air.adapter())).peripheral(address)
            let name = try await Self.configuration(of: visitor)
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                let answer = await central.ask([0x12] + name + [0x01, 0x00])
                #expect(answer == [0x13])
                try await bench.time.sleep(for: .seconds(1))
            }
            try await bench.time.sleep(for: .seconds(1))
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                let kept = await central.ask([0x0A] + name)
                #expect(kept == [0x0B, 0x01, 0x00])
            }
        }
    }

    @Test func `a central that nothing tells of an update keeps what it configures behind it`() async throws {
        var updated = Bench.description
        updated.services.insert(LocalService(BluetoothUUID(0xD000)), at: 0)
        let descriptions = [Bench.description, updated]
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, visitor, far) = (air.adapter(), air.adapter(), air.adapter())
            air.setSecurity(Self.encrypted, between: near, and: far)
            let store = PeerStore.inMemory()
            for description in descriptions {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await description.run(on: .radio(far), store: store) { server in
                            for try await _ in server.centralEvents {}
                        }
                    }
                    let central = try await Central.open(.radio(visitor), store: .inMemory())
                    let name = try await Self.configuration(of: central.peripheral(far.address))
                    for expected: UInt8 in [0, 1] {
                        try await RawCentral.connected(from: near, to: far.address) { central in
                            let configuration = await central.ask([0x0A] + name)
                            #expect(configuration == [0x0B, expected, 0x00])
                            let answer = await central.ask([0x12] + name + [0x01, 0x00])
                            #expect(answer == [0x13])
                        }
                        try await time.sleep(for: .seconds(5))
                    }
                    group.cancelAll()
                }
            }
        }
    }

    /// Serves a peripheral twice, the second time with the files as they were in the middle of a link of the first
    /// time: that is what a killed program or a lost power leaves.
    ///
    /// - Parameters:
    ///   - later: the peripheral of the second time, if it is another one.
    ///   - serve: what the first one does.
    ///   - before: what the central does on the link of the first time; the files are copied 5 s later.
    ///   - after: what it does the second time.
    private static func killed(
        bonded: Bool = true,
        later: LocalPeripheral = Bench.description,
        serve: @escaping @Sendable (PeripheralServer, VirtualTime) async throws -> Void = { _, _ in },
        before: @escaping @Sendable (RawCentral) async throws -> Void,
        after: @escaping @Sendable (RawCentral) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "served-\(UUID())").path
        let left = folder + ".left"
        defer { for path in [folder, left] { try? FileManager.default.removeItem(atPath: path) } }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            if bonded { air.setSecurity(Self.encrypted, between: near, and: far) }
            for round in 0..<2 {
                let store = PeerStore(folder: round == 0 ? folder : left)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        let description = round == 0 ? Bench.description : later
                        try await description.run(on: .radio(far), store: store) { server in
                            if round == 0 { try await serve(server, time) }
                            for try await _ in server.centralEvents {}
                        }
                    }
                    try await RawCentral.connected(from: near, to: far.address) { central in
                        guard round == 0 else { return try await after(central) }
                        try await before(central)
                        try await time.sleep(for: .seconds(5))
                        await store.flush()
                        try? FileManager.default.copyItem(atPath: folder, toPath: left)
                    }
                    group.cancelAll()
                }
            }
        }
    }

    @Test(arguments: [true, false]) func `what a connected central has configured outlives a program that is killed`(
        bonded: Bool
    ) async throws {
        try await Self.killed(
            bonded: bonded,
            before: { central in
                let answer = await central.ask([0x12, 0x09, 0x00, 0x02, 0x00])
                #expect(answer == [0x13])
            },
            after: { central in
                let answer = await central.ask([0x0A, 0x09, 0x00])
                #expect(answer == [0x0B, bonded ? 0x02 : 0x00, 0x00])
            }
        )
    }

    @Test func `what a connected central supports outlives a program that is killed`() async throws {
        try await Self.killed(
            before: { central in
                // Client Supported Features: robust caching.
                let answer = await central.ask([0x12, 0x0B, 0x00, 0x01])
                #expect(answer == [0x13])
            },
            after: { central in
                let answer = await central.ask([0x0A, 0x0B, 0x00])
                #expect(answer == [0x0B, 0x01])
            }
        )
    }

    @Test func `that a connected central knows of new services outlives a program that is killed`() async throws {
        var later = Bench.description
        later.services.append(
            LocalService(BluetoothUUID(0xD000)) { LocalCharacteristic(BluetoothUUID(0xD001), [.read]) }
        )
        let services = later.services
        try await Self.killed(
            later: later,
            serve: { server, time in
                // What the central has configured is stored by then.
                try await time.sleep(for: .seconds(30))
                try server.replaceServices(services)
            },
            before: { central in
                // Service Changed, and what notifies.
                for (handle, bits) in [(0x09, 0x02), (0x15, 0x01)] as [(UInt8, UInt8)] {
                    let answer = await central.ask([0x12, handle, 0x00, bits, 0x00])
                    #expect(answer == [0x13])
                }
                let told = await central.next()
                #expect(told?.first == 0x1D)
                central.send([0x1E])
            },
            after: { central in
                let answer = await central.ask([0x0A, 0x15, 0x00])
                #expect(answer == [0x0B, 0x01, 0x00])
            }
        )
    }
}
