import BLEProtocol
import BLESimulator
import BLEStreams
import Foundation
import Testing

/// What is remembered of a peripheral's services between links, and how it is found to be right or wrong.
@Suite(.timeLimit(.minutes(10))) struct CacheTests {
    private static let moved = LocalService(BluetoothUUID(0xA000)) {
        LocalCharacteristic(BluetoothUUID(0xA0FF), [.read], value: .stored([0xFF]))
        LocalCharacteristic(Bench.readable, [.read, .write], value: .stored([4, 5, 6]))
    }

    /// The requests of each link until the first value was asked for, that one included.
    private func requests(in file: [BTSnoopRecord]) -> [[UInt8]] {
        var links: [[UInt8]] = []
        for packet in file.compactMap({ Packet($0) }) where packet.isSent {
            guard let opcode = packet.pdu.first, ATTOpcode(rawValue: opcode).kind == .request else { continue }
            // Each link begins with the exchange of the MTU.
            if opcode == 0x02 { links.append([]) }
            links[links.count - 1].append(opcode)
        }
        return links.map { link in link.firstIndex(of: 0x0A).map { Array(link[...$0]) } ?? link }
    }

    @Test func `a peripheral that was met before is asked two requests before the first value`() async throws {
        let (file, _) = try await recorded { capture, bench in
            let central = try await Central.open(.radio(bench.centralAdapter).captured(in: capture))
            for round in 0..<3 {
                let peripheral = central.peripheral(bench.peripheralAdapter.address)
                if round == 2 { peripheral.forgetServices() }
                try await peripheral.withLink { link in
                    try await link.expect(Bench.readable, reads: [1, 2, 3])
                    #expect(link.servicesAreRemembered == (round == 1))
                }
            }
        }
        let links = requests(in: file)
        #expect(links.count == 3)
        // Exchange MTU, the hash by its type, and the read.
        #expect(links[1] == [0x02, 0x08, 0x0A])
        #expect(links[0] == links[2])
        print("requests before the one that asks for the first value:", links.map { $0.count - 1 })
        #expect(links[0].count - 1 == 11)
    }

    @Test func `what is forgotten while the disk is full is discovered again, and goes from the file later`()
        async throws
    {
        try await StoreChild.with { child in
            let store = PeerStore(folder: child.folder) { _ in }
            try await Bench.run { bench in
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                let peripheral = central.peripheral(bench.peripheralAdapter.address)
                _ = try await peripheral.withLink { try await $0.discover() }
                await bench.time.holding { await store.flush() }
                try child.fillDisk()
                peripheral.forgetServices()
                await bench.time.holding { await store.flush() }
                try await peripheral.withLink { link in
                    _ = try await link.discover()
                    #expect(!link.servicesAreRemembered)
                }
                await bench.time.holding { await store.flush() }
                try child.freeDisk()
                await bench.time.holding { await store.flush() }
                let later = PeerStore(folder: child.folder)
                let second = try await Central.open(.radio(bench.centralAdapter), store: later)
                try await second.peripheral(peripheral.address).withLink { link in
                    _ = try await link.discover()
                    #expect(!link.servicesAreRemembered)
                }
            }
        }
    }

    @Test func `a peripheral that says too early that there is nothing more is not remembered by what it has told`()
        async throws
    {
        try await Bench.run { bench in
            for skipped in 2..<10 {
                bench.peripheral.forgetServices()
                let error = Fault.replace(.responses) { [0x01, $0[0] == 0x01 ? $0[1] : $0[0] - 1, 0, 0, 0x0A] }
                bench.air.faults.add(error.skipping(skipped).times(1))
                _ = try? await bench.peripheral.withLink { try await $0.discover() }
                bench.air.faults.removeAll()
                try await bench.peripheral.withLink { link in
                    let found = try await link.discover()
                    #expect(
                        found.characteristic(Bench.counter)?.clientConfiguration != nil,
                        "behind \(skipped) answers"
                    )
                    let hash = try await link.read(BluetoothUUID.Characteristics.databaseHash)
                    #expect(found.computedHash() == Array(hash))
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `who waits for the services gets them though they are forgotten meanwhile`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                async let discovered = link.discover()
                async let value = link.read(Bench.readable)
                // Past the first answers: the discovery is under way.
                try await bench.time.sleep(for: .milliseconds(200))
                link.forgetServices()
                #expect(try await discovered.characteristic(Bench.readable) != nil)
                #expect(try await Array(value) == [1, 2, 3])
            }
        }
    }

    @Test func `what is remembered outlives the program`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await Bench.run { bench in
            for round in 0..<2 {
                let store = PeerStore(folder: folder)
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                let database = try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                    let database = try await link.discover()
                    #expect(link.servicesAreRemembered == (round == 1))
                    return database
                }
                #expect(database.characteristic(Bench.notifying)?.clientConfiguration != nil)
                await store.flush()
            }
        }
    }

    @Test func `another hash on the next link has the services discovered again`() async throws {
        try await Bench.run { server, _ in
            for try await event in server.centralEvents {
                if case .disconnected = event { try server.replaceServices([Self.moved]) }
            }
        } _: { bench in
            let before = try await bench.peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                return try await link.discover()
            }
            try await bench.peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [4, 5, 6])
                #expect(!link.servicesAreRemembered)
                let former = try #require(before.characteristic(Bench.readable))
                bench.air.clearTrace()
                // A characteristic of the last link isn't taken for another one of this link.
                let error = await bleError { _ = try await link.read(former) }
                #expect(error?.code == .servicesChanged)
                #expect(bench.sent(by: .central).isEmpty)
            }
            try await bench.peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [4, 5, 6])
                #expect(link.servicesAreRemembered)
            }
        }
    }

    @Test func `a peripheral with a private address is not remembered`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let address = BluetoothAddress(rawValue: 0x4012_3456_789A, kind: .random)
            let far = air.adapter(address: address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Bench.description.run(on: far) }
                let central = try await Central.open(.radio(air.adapter()))
                for _ in 0..<2 {
                    try await central.peripheral(address).withLink { link in
                        _ = try await link.discover()
                        #expect(!link.servicesAreRemembered)
                    }
                }
                group.cancelAll()
            }
        }
    }

    /// A peripheral that has neither a hash nor Service Changed: it says that it stays as it is.
    private static func `static`(_ services: LocalService...) -> LocalPeripheral {
        LocalPeripheral(name: "Static") {
            LocalService(.genericAttribute)
            for service in services { service }
        }
    }

    @Test func `a peripheral that never changes is asked two requests, too, and looked at behind them`() async throws {
        let own = LocalService(BluetoothUUID(0xA000)) {
            LocalCharacteristic(Bench.readable, [.read], value: .stored([1, 2, 3]))
        }
        try await Bench.run(description: Self.static(own)) { bench in
            for round in 0..<3 {
                bench.air.clearTrace()
                try await bench.peripheral.withLink { link in
                    try await link.expect(Bench.readable, reads: [1, 2, 3])
                    #expect(link.servicesAreRemembered == (round > 0))
                    // What is asked behind it has been answered.
                    _ = try await link.read(.handle(3))
                }
                let opcodes = bench.sent(by: .central).compactMap(\.first)
                // Exchange MTU, the first services, and the read.
                if round > 0 { #expect(Array(opcodes.prefix(3)) == [0x02, 0x10, 0x0A]) }
                #expect(opcodes.contains(0x08), "everything was discovered, \(round == 0 ? "first" : "behind it")")
            }
        }
    }

    @Test(arguments: [false, true])
    func `what a link didn't find before it ended is not said to be missing`(isUnanswered: Bool) async throws {
        let own = LocalService(BluetoothUUID(0xA000)) {
            LocalCharacteristic(Bench.readable, [.read], value: .stored([1, 2, 3]))
        }
        try await Bench.run(description: Self.static(own)) { bench in
            try await bench.peripheral.withLink { link in try await link.expect(Bench.readable, reads: [1, 2, 3]) }
            // What is remembered lacks it, so everything is discovered before the program is told so.
            bench.air.faults.add(isUnanswered ? .swallow(.opcode(0x08)) : .dropLink(insteadOf: .opcode(0x08)))
            let lost = await bleError {
                try await bench.peripheral.withLink { link in _ = try await link.read(Bench.long) }
            }
            #expect(lost?.code == (isUnanswered ? .timedOut : .disconnected))
            bench.air.faults.removeAll()
            let missing = await bleError {
                try await bench.peripheral.withLink { link in _ = try await link.read(Bench.long) }
            }
            #expect(missing?.code == .notFound)
        }
    }

    @Test func `one that has changed all the same is found out, and discovered from then on`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let far = air.adapter()
            let central = try await Central.open(.radio(air.adapter()))
            // As new firmware does it: the first services stay where they are, and what lies behind is another one.
            func service(_ characteristics: LocalCharacteristic...) -> LocalService {
                LocalService(BluetoothUUID(0xA000)) { for one in characteristics { one } }
            }
            let value = LocalCharacteristic(Bench.readable, [.read], value: .stored([1, 2, 3]))
            let moved = LocalCharacteristic(Bench.readOnly, [.read], value: .stored([7]))
            for (round, services) in [service(value, moved), service(moved, value), service(moved, value)].enumerated()
            {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await Self.static(services).run(on: far) }
                    try await central.peripheral(far.address).withLink { link in
                        switch round {
                        case 1:
                            // It looks the same at first, and is doubted as soon as it is known better.
                            var changes = link.serviceChanges.makeAsyncIterator()
                            _ = try? await link.read(Bench.readable)
                            #expect(try await changes.next() != nil)
                        case 2: #expect(!link.servicesAreRemembered)
                        default: break
                        }
                        try await link.expect(Bench.readable, reads: [1, 2, 3])
                        #expect(!link.servicesAreRemembered)
                    }
                    group.cancelAll()
                }
            }
        }
    }

    @Test func `a peripheral without a hash is discovered each time`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(
                .replace(.where { $0.first == 0x08 && $0.suffix(2) == [0x2A, 0x2B] }) { pdu in
                    Array(pdu.dropLast(2)) + [0xEF, 0xBE]
                }
            )
            for _ in 0..<2 {
                try await bench.peripheral.withLink { link in
                    try await link.expect(Bench.readable, reads: [1, 2, 3])
                    #expect(!link.servicesAreRemembered)
                }
            }
        }
    }
}
