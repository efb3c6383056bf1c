import BLESimulator
import BLEStreams
import Testing

/// Streams of a server that go on while its services are replaced.
@Suite(.timeLimit(.minutes(10))) struct ReplacedServicesTests {
    private static let trigger = BluetoothUUID(0xB001)
    private static let late = BluetoothUUID(0xC001)

    /// A service that stays as it is, so that the next one can move.
    private static let control = LocalService(BluetoothUUID(0xB000)) {
        LocalCharacteristic(trigger, [.write], value: .stored([0]))
    }

    /// The characteristics of the bench that matter here, at the same handles or behind another one.
    private static func service(isMoved: Bool) -> LocalService {
        LocalService(BluetoothUUID(0xA000)) {
            if isMoved { LocalCharacteristic(Bench.readOnly, [.read], value: .stored([7])) }
            LocalCharacteristic(Bench.dynamic, [.read, .write], value: .dynamic)
            LocalCharacteristic(Bench.notifying, [.notify])
            LocalCharacteristic(Bench.long, [.write], value: .dynamic)
        }
    }

    private static let description = LocalPeripheral(name: "Moving") {
        control
        service(isMoved: false)
    }

    private static let after = [
        control, service(isMoved: true),
        LocalService(BluetoothUUID(0xC000)) { LocalCharacteristic(late, [.write], value: .dynamic) },
    ]

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `reads, writes, messages and subscriptions reach the streams that were begun before`(
        seed: UInt64
    ) async throws {
        let (log, warnings) = (Recorder<String>(), Recorder<BLEError>())
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await _ in server.writes(to: Self.trigger) { try server.replaceServices(Self.after) }
                }
                group.addTask {
                    for try await read in server.reads(of: Bench.dynamic) { try read.respond([UInt8(5)]) }
                }
                for (name, key) in [("dynamic", Bench.dynamic), ("late", Self.late)] {
                    group.addTask {
                        for try await write in server.writes(to: key) {
                            write.accept()
                            log.add("\(name) \(write.value)")
                        }
                    }
                }
                group.addTask {
                    for try await message in server.messages(to: Bench.long) { log.add("message \(message.octets)") }
                }
                group.addTask {
                    for try await change in server.subscriptions(of: Bench.notifying) {
                        log.add("subscribed \(change.isSubscribed)")
                    }
                }
                try await group.next()
                group.cancelAll()
            }
        }
        try await Bench.run(seed: seed, description: Self.description, warnings: warnings, serve: serve) { bench in
            try await bench.peripheral.withLink { link in
                let before = try #require(try await link.discover().characteristic(Bench.dynamic)?.valueHandle)
                try await Self.use(link)
                try await link.write([1], to: Self.trigger)
                try await bench.time.sleep(for: .seconds(1))
                try await Self.use(link)
                try await link.write([9], to: Self.late)
                let now = try #require(try await link.discover().characteristic(Bench.dynamic)?.valueHandle)
                #expect(now != before)
            }
            let once = ["dynamic [4]", "message [1, 2]", "subscribed false", "subscribed true"]
            #expect(log.all.sorted() == (once + once + ["late [9]"]).sorted(), "\(log.all)")
            #expect(warnings.all.isEmpty, "\(warnings.all)")
        }
    }

    /// Services with as many handles, with one characteristic each; the central subscribes to the first one's.
    private static let steady = LocalService(BluetoothUUID(0xD100)) {
        LocalCharacteristic(Bench.notifying, [.notify])
    }
    private static let newcomer = LocalService(BluetoothUUID(0xD200)) { LocalCharacteristic(late, [.notify]) }

    /// More than a third of all handles.
    private static func large(_ number: Int) -> LocalService {
        LocalService(
            BluetoothUUID(0xD300),
            characteristics: (0..<12_000).map {
                LocalCharacteristic(BluetoothUUID(0xD301), [.read], id: "\(number).\($0)")
            }
        )
    }

    /// The third large one doesn't fit behind the others: all handles are dealt anew.
    private static func useUpHandles(of server: PeripheralServer) throws {
        for number in 0..<3 { try server.replaceServices([newcomer, steady, large(number)]) }
        try server.replaceServices([newcomer, steady])
    }

    @Test func `the end of a subscription is told of its own characteristic where another one takes the handle`()
        async throws
    {
        let (all, own, other) = (Recorder<String>(), Recorder<Bool>(), Recorder<Bool>())
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await change in server.subscriptions() {
                        all.add("\(change.characteristic) \(change.isSubscribed)")
                    }
                }
                group.addTask {
                    for try await change in server.subscriptions(of: Bench.notifying) { own.add(change.isSubscribed) }
                }
                group.addTask {
                    for try await change in server.subscriptions(of: Self.late) { other.add(change.isSubscribed) }
                }
                try await bench.time.sleep(for: .seconds(30))
                try Self.useUpHandles(of: server)
                try await group.next()
                group.cancelAll()
            }
        }
        let description = LocalPeripheral(name: "Outworn") { Self.steady }
        try await Bench.run(description: description, serve: serve) { bench in
            try await bench.peripheral.withLink { link in
                let before = try #require(try await link.discover().characteristic(Bench.notifying)?.valueHandle)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { for try await _ in link.notifications(of: Bench.notifying) {} }
                    try await bench.time.sleep(for: .seconds(60))
                    group.cancelAll()
                }
                #expect(try await link.discover().characteristic(Self.late)?.valueHandle == before)
            }
        }
        #expect(all.all.prefix(3) == ["A003 true", "A003 false", "A003 true"], "\(all.all)")
        #expect(own.all.prefix(3) == [true, false, true] && other.all.isEmpty, "\(own.all) \(other.all)")
    }

    /// The services of the message bench, with the characteristics at other handles.
    private static let movedMessages = [
        LocalService(MessageBench.service) {
            LocalCharacteristic(late, [.read], value: .stored([1]))
            LocalCharacteristic(MessageBench.outbound, [.notify])
            LocalCharacteristic(MessageBench.inbound, [.write, .writeWithoutResponse], value: .dynamic)
        }
    ]

    @Test(arguments: [3, 50, 200])
    func `a message that the replacement cuts off is given up, and the next one comes whole`(chunk: Int) async throws {
        let message = (0..<6000).map { UInt8(truncatingIfNeeded: $0 * 31) }
        let errors = Recorder<BLEError.Code>()
        try await MessageBench.run(mtu: 23) { bench in
            let chunks = Recorder<Bool>()
            let received = try await bench.serving { central in
                do {
                    try await bench.server.send(message, of: MessageBench.outbound, to: central) { _ in
                        chunks.add(true)
                        if chunks.all.count == chunk { _ = try? bench.server.replaceServices(Self.movedMessages) }
                    }
                } catch let error as BLEError { errors.add(error.code) }
            } _: {
                let chunks = bench.link.notifications(of: MessageBench.outbound)
                return try await chunks.assembled(until: .endOfMessage()).timeout(.seconds(60)).first()
            }
            #expect(received == message)
        }
        #expect(errors.all == [.notFound])
    }

    @Test func `what is sent directly behind the replacement comes when the central knows of it`() async throws {
        let more = LocalService(BluetoothUUID(0xC000)) { LocalCharacteristic(Self.late, [.read]) }
        try await Bench.run { server, _ in
            var (notified, indicated): (ConnectedCentral?, ConnectedCentral?)
            for try await change in server.subscriptions() where change.isSubscribed {
                if change.kind == .notify { notified = change.central } else { indicated = change.central }
                guard let notified, let indicated else { continue }
                try server.replaceServices(Bench.description.services + [more])
                try await server.notify([1], of: Bench.notifying, to: notified)
                let outcomes = try await server.notify([2], of: Bench.notifying)
                #expect(outcomes.map(\.isSent) == [true])
                try await server.indicate([3], of: Bench.indicating, to: indicated)
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let both = link.notifications(of: Bench.notifying).merge(with: link.notifications(of: Bench.indicating))
                let values = try await both.prefix(3).timeout(.seconds(10)).collect()
                #expect(values.flatMap { Array($0) }.sorted() == [1, 2, 3])
            }
        }
    }

    @Test func `an indication that waits when its characteristic is taken away fails for that reason`() async throws {
        let told = Recorder<BLEError>()
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for try await change in server.subscriptions(of: Bench.indicating) where change.isSubscribed {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 1...2 as ClosedRange<UInt8> {
                        group.addTask {
                            let error = await bleError {
                                try await server.indicate([number], of: Bench.indicating, to: change.central)
                            }
                            if let error { told.add(error) }
                        }
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    try server.replaceServices([Self.control])
                    try await group.waitForAll()
                }
            }
        }
        try await Bench.run(serve: serve) { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(Bench.indicating)?.clientConfiguration).handle
            }
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                // It confirms nothing, so the second one waits for the first.
                let name = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
                let answer = await central.ask([0x12] + name + [0x02, 0x00])
                #expect(answer == [0x13])
                try await bench.time.sleep(for: .seconds(60))
                #expect(told.all.map(\.code) == [.notFound, .disconnected])
                #expect(told.all.first?.cause == "the characteristic no longer exists")
            }
        }
    }

    private static func use(_ link: Link) async throws {
        try await link.write([4], to: Bench.dynamic)
        try await link.expect(Bench.dynamic, reads: [5])
        try await link.send([1, 2], to: Bench.long)
        let values = try await link.notifications(of: Bench.notifying).prefix(for: .seconds(1)).collect()
        #expect(values.isEmpty)
    }

    @Test func `an indication behind a Service Changed that is answered with an error fails and does not wait`()
        async throws
    {
        let told = Recorder<BLEError.Code>()
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            for try await change in server.subscriptions(of: Bench.indicating) where change.isSubscribed {
                try server.replaceServices(Bench.description.services + [Self.control])
                do {
                    try await server.indicate([1], of: Bench.indicating, to: change.central)
                } catch let error as BLEError { told.add(error.code) }
            }
        }
        try await Bench.run(serve: serve) { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(Bench.indicating)?.clientConfiguration).handle
            }
            let configuration = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                // Client Supported Features with robust caching, and Service Changed.
                let writes: [[UInt8]] = [[0x0B, 0x00, 0x01], [0x09, 0x00, 0x02, 0x00], configuration + [0x02, 0x00]]
                for write in writes {
                    let answer = await central.ask([0x12] + write)
                    #expect(answer == [0x13])
                }
                let changed = await central.next()
                #expect(changed?.first == 0x1D)
                // Another indication waits behind it; the central has no handler.
                try await bench.time.sleep(for: .seconds(1))
                central.send([0x01, 0x1D, 0x08, 0x00, 0x06])
                try await bench.time.sleep(for: .seconds(60))
                #expect(told.all == [.busy])
            }
        }
    }
}
