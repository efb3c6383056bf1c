import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// A peripheral whose services change while links are up.
@Suite(.timeLimit(.minutes(10))) struct ServiceChangeTests {
    /// Everything as before, at other handles: something new has come in front.
    private static let moved = LocalService(BluetoothUUID(0xA000)) {
        LocalCharacteristic(BluetoothUUID(0xA0FF), [.read], value: .stored([0xFF]))
        LocalCharacteristic(Bench.readable, [.read, .write], value: .stored([4, 5, 6]))
        LocalCharacteristic(Bench.notifying, [.read, .notify], value: .stored([8]))
    }
    private static let without = LocalService(BluetoothUUID(0xA000)) {
        LocalCharacteristic(Bench.readable, [.read, .write], value: .stored([4, 5, 6]))
    }
    private static let other = LocalService(BluetoothUUID(0xD000)) {
        LocalCharacteristic(BluetoothUUID(0xD001), [.read], value: .stored([1]))
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `a stream goes on with the new handles`(seed: UInt64) async throws {
        try await Bench.run(seed: seed, serve: Bench.changing(to: [Self.moved])) { bench in
            try await bench.peripheral.withLink { link in
                let before = try await link.discover()
                var numbers: [UInt8] = []
                for try await value in link.notifications(of: Bench.notifying) {
                    numbers += Array(value)
                    if numbers == [1] { try await link.write([0xFF], to: Bench.readable) }
                    if numbers.count == 2 { break }
                }
                #expect(numbers == [1, 2])
                let after = try await link.discover()
                let former = try #require(before.characteristic(Bench.notifying))
                let present = try #require(after.characteristic(Bench.notifying))
                #expect(present.valueHandle != former.valueHandle)
                try await link.expect(Bench.readable, reads: [4, 5, 6])

                // Nothing that was sent behind the indication names a handle of before.
                let pdus = bench.air.trace.compactMap(\.pdu)
                let late = try #require(pdus.firstIndex { $0.first == 0x1E })
                let gone = try #require(before.service(BluetoothUUID(0xA000)))
                let named = pdus[late...].filter { [0x0A, 0x12, 0x0C, 0x16].contains($0.first) }
                    .map { UInt16($0[1]) | UInt16($0[2]) << 8 }
                let stale = named.filter { handle in
                    gone.handle <= handle && handle <= gone.endHandle && after.service(containing: handle) == nil
                }
                #expect(stale.isEmpty && !named.isEmpty)
            }
        }
    }

    @Test func `a stream whose characteristic is gone ends and says so`() async throws {
        try await Bench.run(serve: Bench.changing(to: [Self.without])) { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError {
                    for try await _ in link.notifications(of: Bench.notifying) {
                        try await link.write([0xFF], to: Bench.readable)
                    }
                }
                #expect(error?.code == .servicesChanged && error?.object.contains("A003") == true)
                try await link.expect(Bench.readable, reads: [4, 5, 6])
            }
        }
    }

    @Test func `a stream of a service that stays goes on undisturbed`() async throws {
        let services = Bench.description.services + [Self.other]
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Bench.changing(to: services)(server, bench) }
                group.addTask { try await Bench.sendForEver(server, bench) }
                try await group.waitForAll()
            }
        }
        try await Bench.run(serve: serve) { bench in
            try await bench.peripheral.withLink { link in
                let changes = link.serviceChanges
                async let told = changes.first()
                _ = try await link.discover()
                var items = link.notifications(of: Bench.notifying).filter { $0.count == 4 }.withGaps()
                    .makeAsyncIterator()
                var numbers: [UInt32] = []
                while numbers.count < 6 {
                    // A gap is no value.
                    let item = try await items.next()
                    let value = try #require(item?.value)
                    numbers.append(UInt32(octets: value))
                    if numbers.count == 1 { try await link.write([0xFF], to: Bench.readable) }
                }
                #expect(numbers == Array(numbers[0]..<numbers[0] + 6))
                let database = try await told
                #expect(database.service(BluetoothUUID(0xD000)) != nil)
                try await link.expect(BluetoothUUID(0xD001), reads: [1])
            }
        }
    }

    @Test func `values that are followed are read again behind a change`() async throws {
        try await Bench.run(serve: Bench.changing(to: [Self.moved])) { bench in
            try await bench.peripheral.withLink { link in
                var values: [[UInt8]] = []
                for try await value in link.values(of: Bench.notifying) {
                    values.append(Array(value))
                    if values.count == 1 { try await link.write([0xFF], to: Bench.readable) }
                    if values.last == [8] { break }
                }
                #expect(values.first == [0])
            }
        }
    }

    /// Follows a value that is read again behind a change of the services, which the closure has made at the first one.
    ///
    /// - Returns: the values up to that one; the only gap is in front of it.
    private static func valuesAcrossChange(
        _ stream: BLEStream<CharacteristicValue>,
        _ change: @Sendable () async throws -> Void
    ) async throws -> [[UInt8]] {
        var (values, gaps): ([[UInt8]], [Int]) = ([], [])
        for try await item in stream.timeout(.seconds(60)).withGaps() {
            switch item {
            case .value(let value): values.append(Array(value))
            case .gap: gaps.append(values.count)
            }
            if values.count == 1, gaps.isEmpty { try await change() }
            if values.last == [8] { break }
        }
        #expect(values.first == [0] && gaps == [values.count - 1])
        return values
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `values that a link follows are read again behind a change, after the gap and before what is notified then`(
        seed: UInt64
    ) async throws {
        try await Bench.run(seed: seed, serve: Bench.changing(to: [Self.moved])) { bench in
            try await bench.peripheral.withLink { link in
                let values = try await Self.valuesAcrossChange(link.values(of: Bench.notifying)) {
                    try await link.write([0xFF], to: Bench.readable)
                }
                // The second value is notified when the subscription has been made anew.
                #expect(!values.contains([2]))
            }
        }
    }

    @Test(arguments: [false, true])
    func `values that a session follows are read again behind a change, after the gap`(isPlanned: Bool) async throws {
        try await Bench.run(serve: Bench.changing(to: [Self.moved])) { bench in
            let plan = Session.Plan(bench.peripheral)
            try await bench.central.withSession(isPlanned ? plan.subscribing(to: Bench.notifying) : plan) { session in
                _ = try await Self.valuesAcrossChange(session.values(of: Bench.notifying)) {
                    try await session.write([0xFF], to: Bench.readable)
                }
            }
        }
    }

    @Test func `a peripheral that says it is out of sync is asked again, once the handles are known`() async throws {
        try await Bench.run(serve: Bench.changing(to: [Self.moved])) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                // The change is not heard of.
                bench.air.faults.add(.swallow(.indications))
                try await link.write([0xFF], to: Bench.readable)
                try await link.expect(Bench.readable, reads: [4, 5, 6])
                let answers = bench.sent(by: .peripheral).filter { $0.first == 0x01 && $0.last == 0x12 }
                #expect(answers.count == 1)
            }
        }
    }

    @Test func `a handle that may mean something else is not used`() async throws {
        try await Bench.run(serve: Bench.changing(to: [Self.moved])) { bench in
            try await bench.peripheral.withLink { link in
                let handle = try #require(try await link.discover().characteristic(Bench.long)).valueHandle
                bench.air.faults.add(.swallow(.indications))
                try await link.write([0xFF], to: Bench.readable)
                let error = await bleError { _ = try await link.read(.handle(handle)) }
                #expect(error?.code == .servicesChanged)
            }
        }
    }

    @Test func `values that are read by their type are read again, though no handle was known before`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                bench.air.faults.add(.replace(.opcode(0x09), with: [0x01, 0x08, 0x01, 0x00, 0x12]).times(1))
                let values = try await link.readAll(Bench.readable)
                #expect(values.map { Array($0.value) } == [[1, 2, 3]])
            }
        }
    }

    @Test func `a peripheral that is always out of sync is refused in the end`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                bench.air.faults.add(.replace(.readResponses, with: [0x01, 0x0A, 0x00, 0x00, 0x12]))
                let error = await bleError { _ = try await link.read(Bench.readable) }
                #expect(error?.attError == .databaseOutOfSync)
                bench.air.faults.add(
                    .replace(.where { $0.first == 0x13 }, with: [0x01, 0x12, 0x00, 0x00, 0x12])
                )
                let other = await bleError { for try await _ in link.notifications(of: Bench.notifying) {} }
                #expect(other?.attError == .databaseOutOfSync)
            }
        }
    }

    @Test func `a peripheral that changes all the time is believed in the end`() async throws {
        try await Bench.run { bench in
            // Another hash each time it is asked.
            bench.air.faults.add(
                .replace(.where { $0.first == 0x09 && $0.count == 20 && $0[1] == 18 }) { pdu in
                    var pdu = pdu
                    pdu[4...] = (0..<16).map { _ in UInt8.random(in: 0...255) }[...]
                    return pdu
                }
            )
            try await bench.peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                #expect(!link.servicesAreRemembered)
            }
        }
    }

    @Test func `a change behind forgotten services is told with the next discovery, and nothing is without one`()
        async throws
    {
        try await Bench.run(serve: Bench.changing(to: [Self.moved])) { bench in
            try await bench.peripheral.withLink { link in
                let changes = link.serviceChanges.timeout(.seconds(60))
                async let told = changes.first()
                let before = try await link.discover()
                let handle = try #require(before.characteristic(Bench.readable)).valueHandle
                link.forgetServices()
                #expect(try await link.discover() == before)
                link.forgetServices()
                try await link.write([0xFF], to: .handle(handle))
                try await bench.time.sleep(for: .seconds(1))
                let after = try await link.discover()
                #expect(after != before)
                let first = try await told
                #expect(first == after)
            }
        }
    }

    @Test func `a change is told on a link whose services are remembered, though none of them is used`() async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await bench.time.sleep(for: .seconds(60))
            try server.replaceServices([Self.moved])
            for try await _ in server.centralEvents {}
        }
        try await Bench.run(serve: serve) { bench in
            let before = try await bench.peripheral.withLink { try await $0.discover() }
            try await bench.peripheral.withLink { link in
                #expect(try await link.discover() == before)
                #expect(link.servicesAreRemembered)
                let after = try await link.serviceChanges.timeout(.seconds(600)).first()
                #expect(after != before)
                #expect(try await link.discover() == after)
            }
        }
    }

    @Test func `a change that could not be looked at is told with the next discovery`() async throws {
        try await Bench.run(serve: Bench.changing(to: [Self.moved])) { bench in
            try await bench.peripheral.withLink { link in
                let changes = link.serviceChanges.timeout(.seconds(60))
                async let told = changes.first()
                let before = try await link.discover()
                // Unlikely Error: the peripheral lets nobody look for services.
                bench.air.faults.add(.replace(.where { $0.first == 0x11 }, with: [0x01, 0x10, 0x01, 0x00, 0x0E]))
                try await link.write([0xFF], to: Bench.readable)
                try await bench.time.sleep(for: .seconds(5))
                bench.air.faults.removeAll()
                let after = try await link.discover()
                #expect(after != before)
                let first = try await told
                #expect(first == after)
            }
        }
    }
}
