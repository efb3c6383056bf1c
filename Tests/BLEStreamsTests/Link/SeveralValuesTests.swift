import BLESimulator
import BLEStreams
import Testing

/// Reading more than one value, descriptors, and what the Generic Access service tells.
@Suite(.timeLimit(.minutes(10))) struct SeveralValuesTests {
    private static let twin = BluetoothUUID(0xB001)
    private static let long = BluetoothUUID(0xB002)
    private static let signed = BluetoothUUID(0xB003)
    private static let longValue = (0..<512).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    private static let place = BluetoothUUID(0x272F)

    private static let description = LocalPeripheral(name: "Several things", appearance: 0x0341) {
        LocalService(BluetoothUUID(0xB000), id: "first") {
            LocalCharacteristic(twin, [.read, .write], value: .stored([1]), id: "one") {
                LocalDescriptor.userDescription("The first", writing: .open)
                LocalDescriptor.presentationFormat(0x0E, exponent: -2, unit: 0x272F)
            }
            LocalCharacteristic(twin, [.read], value: .stored([2]), id: "two") {
                LocalDescriptor(BluetoothUUID(0x2905), value: .stored([0x10, 0x00, 0x20, 0x00]))
            }
            LocalCharacteristic(long, [.read], value: .stored(longValue))
            LocalCharacteristic(signed, [.read, .write, .authenticatedSignedWrites])
        }
        LocalService(BluetoothUUID(0xB000), id: "second") {
            LocalCharacteristic(twin, [.read], value: .stored([3]), id: "three")
        }
    }

    private func onLink(_ body: @escaping @Sendable (Link, Bench) async throws -> Void) async throws {
        try await Bench.run(description: Self.description) { bench in
            try await bench.peripheral.withLink { link in try await body(link, bench) }
        }
    }

    @Test func `all values of a type come with the handles that tell them apart`() async throws {
        try await onLink { link, _ in
            let values = try await link.readAll(Self.twin)
            #expect(values.map { Array($0.value) } == [[1], [2], [3]])
            let found = try await link.discover().characteristics(Self.twin)
            #expect(values.map(\.handle) == found.map(\.valueHandle))
            let second = try await link.read(found[1])
            #expect(Array(second) == [2])
            let none = try await link.readAll(BluetoothUUID(0xBEEF))
            #expect(none.isEmpty)
            let within = try await link.readAll(Self.twin, in: found[1].handle...found[2].handle)
            #expect(within.map(\.handle) == [found[1].valueHandle])
        }
    }

    @Test func `a long value that was read by its type is read to its end`() async throws {
        try await onLink { link, _ in
            let values = try await link.readAll(Self.long)
            #expect(values.map { Array($0.value) } == [Self.longValue])
        }
    }

    /// A value of 21 octets: Read By Type has room for 19, the answer to a Read Request for 22.
    private static func giveShortValue(
        _ value: [UInt8],
        refusingBlobsWith code: UInt8
    ) -> @Sendable ([UInt8]) -> ScriptedLink.Answers {
        { request in
            let answer: [UInt8] =
                switch request[0] {
                case 0x08 where request[1] <= 3: [0x09, 0x15, 0x03, 0x00] + value.prefix(19)
                case 0x0A: [0x0B] + value
                case 0x0C: [0x01, 0x0C, 0x03, 0x00, code]
                case 0x02: [0x01, 0x02, 0x00, 0x00, 0x06]
                default: [0x01, request[0], request[1], request[2], 0x0A]
                }
            return [(.milliseconds(1), answer)]
        }
    }

    @Test(arguments: [0x06, 0x0B] as [UInt8])
    func `a value that its type's list has cut is whole, though the peripheral takes it for a short one`(
        code: UInt8
    ) async throws {
        let name = Array("Thermometer, kitchen.".utf8)
        try await ScriptedLink.run {
            [ScriptedLink($0, Self.giveShortValue(name, refusingBlobsWith: code))]
        } _: { link, _ in
            let values = try await link.readAll(Self.twin)
            #expect(values.map { Array($0.value) } == [name])
            let told = try await link.deviceName()
            #expect(told == "Thermometer, kitchen.")
        }
    }

    @Test func `several handles are read in one request, and what doesn't fit is read whole`() async throws {
        try await onLink { link, bench in
            let database = try await link.discover()
            let twins = database.characteristics(Self.twin).map(\.valueHandle)
            let long = try #require(database.characteristic(Self.long)).valueHandle
            bench.air.clearTrace()
            let small = try await link.read(handles: twins)
            #expect(small.map(Array.init) == [[1], [2], [3]])
            #expect(bench.sent(by: .central).map(\.first) == [0x20])
            let mixed = try await link.read(handles: [twins[0], long, twins[1], long, twins[2]])
            #expect(mixed.map(Array.init) == [[1], Self.longValue, [2], Self.longValue, [3]])
            let one = try await link.read(handles: [twins[2]])
            #expect(one.map(Array.init) == [[3]])
            let none = try await link.read(handles: [])
            #expect(none.isEmpty)
        }
    }

    /// As Zephyr does: the length of a value that doesn't fit is that of the octets that do.
    private static func cut(_ request: [UInt8]) -> ScriptedLink.Answers {
        let long = [UInt8](1...30)
        return switch request[0] {
        case 0x02: [(.milliseconds(1), [0x01, 0x02, 0x00, 0x00, 0x06])]
        case 0x20: [(.milliseconds(1), [0x21, 0x01, 0x00, 0xAA, 0x11, 0x00] + long.prefix(17))]
        case 0x0A: [(.milliseconds(1), [0x0B] + long.prefix(22))]
        case 0x0C: [(.milliseconds(1), [0x0D] + long.dropFirst(Int(request[3])))]
        default: []
        }
    }

    @Test func `a value that is cut by a full answer is read whole, even if its length doesn't say so`() async throws {
        try await ScriptedLink.run {
            [ScriptedLink($0, Self.cut)]
        } _: { link, _ in
            let values = try await link.read(handles: [3, 5])
            #expect(values.map(Array.init) == [[0xAA], [UInt8](1...30)])
        }
    }

    @Test func `values of known lengths are read in one piece`() async throws {
        try await onLink { link, _ in
            let twins = try await link.discover().characteristics(Self.twin).map(\.valueHandle)
            let together = try await link.readConcatenated(handles: twins)
            #expect(Array(together) == [1, 2, 3])
            let error = await bleError { _ = try await link.readConcatenated(handles: [twins[0]]) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func `a peripheral that knows no such request is asked for one value after the other`() async throws {
        try await Bench.run(description: Self.description) { bench in
            try await bench.peripheral.withLink { link in
                let twins = try await link.discover().characteristics(Self.twin).map(\.valueHandle)
                bench.air.faults.add(.replace(.opcode(0x21), with: [0x01, 0x20, 0, 0, 0x06]))
                let values = try await link.read(handles: twins)
                #expect(values.map(Array.init) == [[1], [2], [3]])
            }
        }
    }

    @Test func `descriptors are read and decoded, by type and by handle`() async throws {
        try await onLink { link, _ in
            let first = try #require(try await link.discover().characteristics(Self.twin).first)
            let text = try await link.read(descriptor: .characteristicUserDescription, of: Self.twin)
            #expect(text == .userDescription("The first"))
            let properties = try #require(first.descriptor(.characteristicExtendedProperties))
            let extended = try await link.read(properties)
            #expect(extended == .extendedProperties(.writableAuxiliaries))
            let format = try await link.read(descriptor: .characteristicPresentationFormat, of: Self.twin)
            #expect(
                format
                    == .presentationFormat(
                        Descriptor.PresentationFormat(format: .sint16, exponent: -2, unit: Self.place)
                    )
            )
            let description = try #require(first.descriptor(.characteristicUserDescription))
            try await link.write("Another".utf8, to: description)
            let changed = try await link.read(description)
            #expect(changed == .userDescription("Another"))
            let second = try #require(try await link.discover().characteristics(Self.twin).dropFirst().first)
            let aggregate = try #require(second.descriptor(.characteristicAggregateFormat))
            let handles = try await link.read(aggregate)
            #expect(handles == .aggregateFormat([0x0010, 0x0020]))
            let missing = await bleError { _ = try await link.read(descriptor: .validRange, of: Self.twin) }
            #expect(missing?.code == .notFound)
        }
    }

    @Test func `name, appearance and preferred parameters take one request each, without discovery`() async throws {
        try await onLink { link, bench in
            bench.air.clearTrace()
            let name = try await link.deviceName()
            #expect(name == "Several things")
            let appearance = try await link.appearance()
            #expect(appearance == 0x0341)
            let parameters = try await link.preferredConnectionParameters()
            #expect(parameters == nil)
            #expect(bench.sent(by: .central).map(\.first) == [0x08, 0x08, 0x08])
        }
    }

    /// As NimBLE does with one of 20 octets or more.
    @Test func `a name that a peripheral doesn't give by its type is read by its handle`() async throws {
        try await onLink { link, bench in
            bench.air.faults.add(.replace(.opcode(0x09), with: [0x01, 0x08, 0x03, 0x00, 0x0E]).times(1))
            let name = try await link.deviceName()
            #expect(name == "Several things")
        }
    }

    @Test func `preferred parameters are decoded`() throws {
        let octets: [UInt8] = [0x06, 0x00, 0xFF, 0xFF, 0x04, 0x00, 0x90, 0x01]
        let parameters = try #require(ConnectionParameters.Preferred(octets: octets))
        #expect(parameters.minimumInterval == .microseconds(7500) && parameters.maximumInterval == nil)
        #expect(parameters.latency == 4 && parameters.supervisionTimeout == .seconds(4))
        #expect(ConnectionParameters.Preferred(octets: octets.dropLast()) == nil)
    }

    @Test func `a signed write carries counter and signature, and goes unsigned where it must not`() async throws {
        try await onLink { link, bench in
            let key = try #require(SigningKey(octets: 0..<16))
            _ = try await link.discover()
            bench.air.clearTrace()
            try await link.write([0xAB], to: Self.signed, signedWith: key, counter: 7)
            // It is sent some time after the radio has taken it; not later than what follows.
            try await link.expect(Self.twin, reads: [1])
            let pdu = try #require(bench.sent(by: .central).first)
            #expect(pdu.first == 0xD2 && pdu.count == 3 + 1 + 12)
            #expect(Array(pdu.dropFirst(4).prefix(4)) == [7, 0, 0, 0])
            let refused = await bleError { try await link.write([1], to: Self.long, signedWith: key, counter: 8) }
            #expect(refused?.code == .notSupported)
            let tooLong = [UInt8](repeating: 0, count: link.mtu - 14)
            let overflow = await bleError {
                try await link.write(tooLong, to: Self.signed, signedWith: key, counter: 9)
            }
            #expect(overflow?.code == .overflow)
        }
    }
}
