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

    /// Exchange MTU, the value by its type, wherever it is up to where it was, and the hash.
    private static let mtu: [UInt8] = [0x02, 0x05, 0x02]
    private static func read(upTo handle: UInt8) -> [UInt8] { [0x08, 0x01, 0x00, handle, 0x00, 0x01, 0xA0] }
    private static let hash: [UInt8] = [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x2A, 0x2B]

    /// The requests of each link.
    private func requests(in pdus: [[UInt8]]) -> [[[UInt8]]] {
        var links: [[[UInt8]]] = []
        for pdu in pdus {
            guard let opcode = pdu.first, ATTOpcode(rawValue: opcode).kind == .request else { continue }
            // Each link begins with the exchange of the MTU.
            if opcode == 0x02 { links.append([]) }
            links[links.count - 1].append(pdu)
        }
        return links
    }

    @Test func `a peripheral that was met before is asked for its value with the second request`() async throws {
        let (file, _) = try await recorded { capture, bench in
            let central = try await Central.open(.radio(bench.centralAdapter).captured(in: capture))
            for round in 0..<3 {
                let peripheral = central.peripheral(bench.peripheralAdapter.address)
                if round == 2 { peripheral.forgetServices() }
                try await peripheral.withLink { link in
                    try await link.expect(Bench.readable, reads: [1, 2, 3])
                    _ = try await link.discover()
                    #expect(link.servicesAreRemembered == (round == 1))
                }
            }
        }
        let links = requests(in: file.compactMap { Packet($0) }.filter(\.isSent).map { Array($0.pdu) })
        #expect(links.count == 3)
        // What finds out whether it is as it was comes behind the value.
        let handle = try #require(links[0].first { $0[0] == 0x0A }?[1])
        #expect(Array(links[1].prefix(3)) == [Self.mtu, Self.read(upTo: handle), Self.hash])
        #expect(links[0] == links[2])
        #expect(links[0].firstIndex { $0[0] == 0x0A } == 11)
    }

    @Test func `a long value of a peripheral that was met before is read whole`() async throws {
        try await Bench.run { bench in
            for _ in 0..<2 {
                try await bench.peripheral.withLink { link in
                    try await link.expect(Bench.long, reads: Bench.longValue)
                    _ = try await link.discover()
                }
            }
            #expect(bench.sent(by: .central).contains { $0.first == 0x08 && $0.suffix(2) == [0x02, 0xA0] })
        }
    }

    @Test func `a peripheral that doesn't read by type is read by handle`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(
                .replace(.where { $0.first == 0x08 && $0.suffix(2) == [0x01, 0xA0] }) { _ in
                    [0x08, 0x00, 0x00, 0x00, 0x00, 0x01, 0xA0]
                }
            )
            for _ in 0..<2 {
                try await bench.peripheral.withLink { link in
                    try await link.expect(Bench.readable, reads: [1, 2, 3])
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
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
                _ = try await link.discover()
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

    /// The requests of a second link to a peripheral with a value to read, to write and to subscribe to.
    private func requests(
        of peripheral: LocalPeripheral,
        _ body: @escaping @Sendable (Link) async throws -> Void
    ) async throws -> [[UInt8]] {
        let links = Recorder<[[UInt8]]>()
        try await Bench.run(description: peripheral) { bench in
            try await bench.peripheral.withLink { link in _ = try await link.discover() }
            bench.air.clearTrace()
            try await bench.peripheral.withLink(body)
            links.add(bench.sent(by: .central))
        }
        return try #require(requests(in: #require(links.all.first)).first)
    }

    private static let own = LocalService(BluetoothUUID(0xA000)) {
        LocalCharacteristic(Bench.readable, [.read, .write, .notify], value: .stored([1, 2, 3]))
    }

    @Test func `the values of one that never changes come with the second request, and before a write it is asked`()
        async throws
    {
        let reading = try await requests(of: Self.static(Self.own)) { _ = try await $0.read(Bench.readable) }
        #expect(reading.prefix(2).map { $0[0] } == [0x02, 0x08] && reading[1].suffix(2) == [0x01, 0xA0])
        let subscribing = try await requests(of: Self.static(Self.own)) { link in
            let values = link.notifications(of: Bench.readable).timeout(.seconds(1), for: .firstValue)
            _ = try? await values.first()
        }
        #expect(subscribing.prefix(2).map { $0[0] } == [0x02, 0x12])
        let writing = try await requests(of: Self.static(Self.own)) { try await $0.write([4], to: Bench.readable) }
        // The first services tell whether it is the same.
        #expect(writing.prefix(3).map { $0[0] } == [0x02, 0x10, 0x12])
    }

    @Test func `one with a hash and no bond is asked for that before it is written to or subscribed to`()
        async throws
    {
        let subscribing = try await requests(of: Bench.description) { link in
            let values = link.notifications(of: Bench.notifying).timeout(.seconds(1), for: .firstValue)
            _ = try? await values.first()
        }
        #expect(Array(subscribing.prefix(2)) == [Self.mtu, Self.hash] && subscribing[2][0] == 0x12)
        let writing = try await requests(of: Bench.description) { try await $0.write([4], to: Bench.readable) }
        #expect(Array(writing.prefix(2)) == [Self.mtu, Self.hash] && writing[2][0] == 0x12)
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
                // Exchange MTU, and the value by its type.
                if round > 0 { #expect(Array(opcodes.prefix(2)) == [0x02, 0x08]) }
                #expect(opcodes.contains(0x10), "everything was discovered, \(round == 0 ? "first" : "behind it")")
            }
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
                            // It is doubted as soon as the value isn't where it was, and the value is the right one.
                            var changes = link.serviceChanges.makeAsyncIterator()
                            try await link.expect(Bench.readable, reads: [1, 2, 3])
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
