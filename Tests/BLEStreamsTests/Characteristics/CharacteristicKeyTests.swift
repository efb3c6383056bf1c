import BLEDevices
import BLESimulator
import BLEStreams
import Testing

extension CharacteristicKey where Self == TypedCharacteristic<String> {
    /// A key that a program declares for itself.
    fileprivate static var label: Self {
        TypedCharacteristic(Twin.label) { reader throws(MalformedValue) in
            String(decoding: try reader.bytes(3), as: UTF8.self)
        } encode: { text, writer throws(MalformedValue) in
            for octet in text.utf8 { writer.uint8(octet) }
        }
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<[UInt8]> {
    /// One whose values are octets themselves, in another order.
    fileprivate static var backwards: Self {
        TypedCharacteristic(Twin.label) { reader throws(MalformedValue) in
            try reader.bytes(3).reversed()
        } encode: { value, writer throws(MalformedValue) in
            for octet in value.reversed() { writer.uint8(octet) }
        }
    }
}

extension CharacteristicKey where Self == BluetoothUUID {
    fileprivate static var plainLabel: Self { Twin.label }
}

/// A device with two batteries, in two services.
private enum Twin {
    static let first = BluetoothUUID(0xB000)
    static let second = BluetoothUUID(0xB100)
    static let label = BluetoothUUID(0xB002)

    static let description = LocalPeripheral(name: "Twin") {
        LocalService(first) {
            LocalCharacteristic(.batteryLevel, [.read, .notify], value: 11, id: "first")
            LocalCharacteristic(.label, [.read, .write, .writeWithoutResponse, .notify], value: "abc")
        }
        LocalService(second) {
            LocalCharacteristic(.batteryLevel, [.read, .notify], value: 22, id: "second")
        }
    }
}

/// One vocabulary: the same keys, by whichever way.
@Suite(.timeLimit(.minutes(10))) struct CharacteristicKeyTests {
    /// Reads the second battery by each key that there is for it.
    private static func readAll(
        through access: some CharacteristicAccess,
        _ second: Characteristic
    ) async throws -> [Int] {
        let uuid = BluetoothUUID.Characteristics.batteryLevel
        let octets = [
            try await access.read(.uuid(uuid, in: Twin.second)),
            try await access.read(second),
            try await access.read(.handle(second.valueHandle)),
        ]
        let values = [
            try await access.read(.batteryLevel.at(.uuid(uuid, in: Twin.second))),
            try await access.read(.batteryLevel.at(second)),
            try await access.read(.batteryLevel.at(.handle(second.valueHandle))),
        ]
        let first = [Int(try await access.read(uuid)[0]), try await access.read(.batteryLevel)]
        #expect(first == [11, 11])
        return octets.map { Int($0[0]) } + values
    }

    /// Writes octets and values of a type, by keys of both kinds.
    private static func writeAll(through access: some CharacteristicAccess) async throws -> [String] {
        var labels: [String] = []
        try await access.write("new", to: .label)
        labels.append(try await access.read(.label))
        try await access.write("raw".utf8, to: .plainLabel)
        labels.append(try await access.read(.label))
        try await access.write("let".utf8, to: .label)
        labels.append(try await access.read(.label))
        try await access.write(Array("cba".utf8), to: .backwards)
        labels.append(try await access.read(.label))
        try await access.write(try await access.read(.plainLabel), to: Twin.label, .withoutResponse)
        labels.append(try await access.read(.label))
        return labels
    }

    private static let written = ["new", "raw", "let", "abc", "abc"]

    private static func run(_ body: @escaping @Sendable (Bench, Characteristic) async throws -> Void) async throws {
        try await Bench.run(description: Twin.description) { bench in
            let second = try await bench.peripheral.withLink { link in
                try await link.discover().service(Twin.second)?.characteristics.first
            }
            try await body(bench, try #require(second))
        }
    }

    @Test func `each key names the same characteristic on a link`() async throws {
        try await Self.run { bench, second in
            try await bench.peripheral.withLink { link in
                let levels = try await Self.readAll(through: link, second)
                #expect(levels == Array(repeating: 22, count: 6))
                let labels = try await Self.writeAll(through: link)
                #expect(labels == Self.written)
            }
        }
    }

    @Test func `each key names the same characteristic in a session`() async throws {
        try await Self.run { bench, second in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let levels = try await Self.readAll(through: session, second)
                #expect(levels == Array(repeating: 22, count: 6))
                let labels = try await Self.writeAll(through: session)
                #expect(labels == Self.written)
            }
        }
    }

    @Test func `each key names the same characteristic in a command, of a queue and of a session's`() async throws {
        try await Self.run { bench, second in
            let command = CommandBlock("all") { context in
                let labels = try await Self.writeAll(through: context)
                #expect(labels == Self.written)
                return try await Self.readAll(through: context, second)
            }
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting().retrying(.exponential(attempts: 3))
                let levels = try await queue.run(command)
                #expect(levels == Array(repeating: 22, count: 6))
                let charge = try await queue.run(.read(.batteryLevel))
                let octets = try await queue.run(.read(.handle(second.valueHandle)))
                try await queue.run(.write("que", to: .label))
                try await queue.run(.write([0x61, 0x62, 0x63], to: .plainLabel))
                #expect(charge == 11 && Array(octets) == [22])
            }
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let levels = try await session.queue.run(command.retry())
                #expect(levels == Array(repeating: 22, count: 6))
            }
        }
    }

    @Test func `a flow reads and writes with the same keys`() async throws {
        struct Both: Command {
            let second: Characteristic
            func run(in context: CommandContext) async throws -> [Int] {
                let labels = try await CharacteristicKeyTests.writeAll(through: context)
                #expect(labels == CharacteristicKeyTests.written)
                return try await CharacteristicKeyTests.readAll(through: context, second)
            }
        }
        try await Self.run { bench, second in
            try await bench.peripheral.withQueue { queue in
                let levels = try await queue.connecting().run(Both(second: second))
                #expect(levels == Array(repeating: 22, count: 6))
            }
        }
    }

    @Test func `an error names the operation, and the key as it was given`() async throws {
        try await Self.run { bench, second in
            try await bench.peripheral.withLink { link in
                let short = TypedCharacteristic(Twin.label) { reader throws(MalformedValue) in try reader.bytes(9) }
                let read = await bleError { _ = try await link.read(short) }
                #expect(read?.code == .malformedValue && read?.operation == "read")
                let written = await bleError { try await link.write([1], to: short.at(second)) }
                #expect(written?.code == .notSupported && written?.operation == "write")
                let missing = await bleError { _ = try await link.read(.uuid(Twin.label, in: Twin.second)) }
                #expect(missing?.code == .notFound && missing?.object.contains("B002 in service B100") == true)
            }
        }
    }

    @Test func `a descriptor is read and written by the key of its characteristic`() async throws {
        try await Self.run { bench, second in
            let uuid = BluetoothUUID.clientCharacteristicConfiguration
            try await bench.peripheral.withLink { link in
                try await link.write([1, 0], toDescriptor: uuid, of: second)
                let (first, other) = (
                    try await link.read(descriptor: uuid, of: .batteryLevel),
                    try await link.read(descriptor: uuid, of: .batteryLevel.at(second))
                )
                #expect(first == .clientConfiguration([]) && other == .clientConfiguration(.notify))
            }
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let missing = await bleError { _ = try await session.read(descriptor: .validRange, of: .label) }
                #expect(missing?.code == .notFound)
            }
        }
    }

    @Test func `a plan takes keys, and a session's values say which one sent them`() async throws {
        try await Self.run { bench, second in
            let plan = Session.Plan(bench.peripheral).subscribing(to: .batteryLevel.at(second)).subscribing(to: .label)
            #expect(plan.subscriptions.map(\.description) == ["2A19 at 0x\(Self.hex(second.valueHandle))", "B002"])
            try await bench.central.withSession(plan) { session in
                try await session.ready(timeout: .seconds(30))
                let first = try await session.values(of: .batteryLevel.at(second)).first()
                #expect(first == 22)
            }
        }
    }

    private static func hex(_ handle: UInt16) -> String {
        let digits = String(handle, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    @Test func `a session reads a value that it follows again on each link`() async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            var number: UInt8 = 0
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                try await bench.time.sleep(for: .seconds(1))
                number += 1
                try server.setValue([number], of: Bench.notifying)
                try await server.notify([number], of: Bench.notifying)
            }
        }
        try await Bench.run(serve: serve) { bench in
            bench.air.faults.add(.dropLink(after: 1, .notifications))
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let items = try await session.values(of: Bench.notifying).withGaps().collect(5)
                let values = items.map { item -> UInt8? in if case .value(let value) = item { value[0] } else { nil } }
                #expect(values == [0, 1, nil, 1, 2])
            }
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>, [false, true])
    func `what a device sends at once to whoever subscribes is in the value that a session reads on each link`(
        seed: UInt64,
        isPlanned: Bool
    ) async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            var number: UInt8 = 0
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                number += 1
                try server.setValue([number], of: Bench.notifying)
                try await server.notify([number], of: Bench.notifying, to: change.central)
            }
        }
        try await Bench.run(seed: seed, serve: serve) { bench in
            let plan = Session.Plan(bench.peripheral)
            try await bench.central.withSession(isPlanned ? plan.subscribing(to: Bench.notifying) : plan) { session in
                var items: [String] = []
                for try await item in session.values(of: Bench.notifying).withGaps().timeout(.seconds(60)) {
                    items.append(item.value.map { "\($0[0])" } ?? "gap")
                    if item.value != nil { bench.air.faults.add(.dropLink(after: .seconds(5))) }
                    if items.last == "4" { break }
                }
                #expect(items == ["1", "gap", "2", "gap", "3", "gap", "4"])
            }
        }
    }
}
