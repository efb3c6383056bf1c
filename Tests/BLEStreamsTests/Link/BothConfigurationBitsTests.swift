import BLESimulator
import Testing

@testable import BLEStreams

/// Notifications and indications of one characteristic, wanted by different subscribers.
@Suite(.timeLimit(.minutes(10))) struct BothConfigurationBitsTests {
    private static let both = BluetoothUUID(0xE003)
    private static let description = LocalPeripheral(name: "Both") {
        LocalService(BluetoothUUID(0xE000)) {
            LocalCharacteristic(Bench.readable, [.read], value: .stored([1]))
            LocalCharacteristic(both, [.notify, .indicate])
        }
    }

    @Test func `what is written is what the subscribers want together`() async throws {
        try await Bench.run(description: Self.description) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                let first = try await link.subscribe(.uuid(Self.both, service: nil), deliver: { _ in })
                let second = try await link.subscribe(
                    .uuid(Self.both, service: nil),
                    indications: true,
                    deliver: { _ in }
                )
                first()
                try await link.expect(Bench.readable, reads: [1])
                second()
                try await link.expect(Bench.readable, reads: [1])
                #expect(bench.writes == [[1, 0], [3, 0], [2, 0], [0, 0]])
            }
        }
    }

    @Test func `a peer that refuses both at once keeps the first subscriber, and tells the second`() async throws {
        try await Bench.run(description: Self.description) { bench in
            try await bench.peripheral.withLink { link in
                let database = try await link.discover()
                let descriptor = database.characteristic(Self.both)?.clientConfiguration?.handle ?? 0
                let first = try await link.subscribe(.uuid(Self.both, service: nil), deliver: { _ in })
                bench.air.faults.add(
                    .replace(.opcode(0x13), with: [0x01, 0x12, UInt8(descriptor), 0, 0x13]).times(1)
                )
                let error = await bleError {
                    _ = try await link.subscribe(.uuid(Self.both, service: nil), indications: true, deliver: { _ in })
                }
                #expect(error?.attError == .valueNotAllowed)
                first()
                try await link.expect(Bench.readable, reads: [1])
                #expect(bench.writes == [[1, 0], [3, 0], [0, 0]])
            }
        }
    }

    @Test(arguments: [true, false])
    func `a switch-off of one of the two that fails is not tried again`(isRefused: Bool) async throws {
        try await Bench.run(description: Self.description) { bench in
            try? await bench.peripheral.withLink { link in
                let database = try await link.discover()
                let descriptor = database.characteristic(Self.both)?.clientConfiguration?.handle ?? 0
                let first = try await link.subscribe(.uuid(Self.both, service: nil), deliver: { _ in })
                let second = try await link.subscribe(
                    .uuid(Self.both, service: nil),
                    indications: true,
                    deliver: { _ in }
                )
                bench.air.faults.add(
                    isRefused
                        ? .replace(.writeResponses, with: [0x01, 0x12, UInt8(descriptor), 0, 0x0E])
                        : .dropLink(insteadOf: .writeResponses)
                )
                first()
                try await bench.time.sleep(for: .seconds(10))
                second()
                try await bench.time.sleep(for: .seconds(10))
            }
            #expect(bench.writes == [[1, 0], [3, 0], [2, 0]] + (isRefused ? [[0, 0]] : []))
        }
    }

    @Test func `who wants what the peer has refused to stop waits while it is told to stop all`() throws {
        var table = SubscriptionTable()
        func add(_ id: Int, _ configuration: SubscriptionTable.Configuration) -> SubscriptionTable.Write? {
            table.add(id, valueHandle: 3, descriptorHandle: 4, configuration)
        }
        for (id, configuration) in [(1, SubscriptionTable.Configuration.notify), (2, .indicate)] {
            let write = try #require(add(id, configuration))
            _ = table.written(write, succeeded: true)
        }
        let firstLeaves = table.remove(1, valueHandle: 3)
        let half = try #require(firstLeaves)
        _ = table.written(half, succeeded: false)
        let secondLeaves = table.remove(2, valueHandle: 3)
        let off = try #require(secondLeaves)
        // It sends notifications until it has answered: what comes then would be followed by a hole.
        let (write, mustWait) = (add(3, .notify), table.isBeingSwitchedOff(3, valueHandle: 3))
        #expect(off.configuration == [] && write == nil && mustWait)
        let on = table.written(off, succeeded: true).next
        #expect(on?.configuration == .notify && !table.isBeingSwitchedOff(3, valueHandle: 3))
    }

    @Test func `who subscribes to what stays on, since the other one is refused, is told that it is made`() {
        let characteristic = Characteristic(
            uuid: Self.both,
            properties: [.notify, .indicate],
            handle: 2,
            valueHandle: 3,
            endHandle: 4,
            descriptors: [Descriptor(uuid: .clientCharacteristicConfiguration, handle: 4)]
        )
        let uuid = BluetoothUUID(0xE000)
        let service = GATTService(uuid: uuid, handle: 1, endHandle: 4, characteristics: [characteristic])
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        machine.add(GATTDatabase(services: [service]), of: [uuid])
        var output = LinkMachine.Output()
        func subscribe(indications: Bool) {
            let consumer = ValueConsumer(object: "", deliver: { _ in }, finish: { _ in })
            let selector = CharacteristicSelector.uuid(Self.both, service: nil)
            _ = machine.subscribe(selector, indications: indications, pass: nil, consumer, &output)
        }
        func write() -> [UInt8]? { machine.send(&output) }
        subscribe(indications: false)
        #expect(write() == [0x12, 4, 0, 1, 0])
        machine.unsubscribe(1, &output)
        subscribe(indications: true)
        machine.receive([0x13], &output)
        #expect(write() == [0x12, 4, 0, 2, 0])
        subscribe(indications: false)
        output = LinkMachine.Output()
        machine.receive([0x01, 0x12, 4, 0, 0x0E], &output)
        let notices = output.rest?.notices ?? []
        let hasEnded = notices.contains { if case .ended = $0 { true } else { false } }
        let isArmed = notices.contains { if case .armed = $0 { true } else { false } }
        #expect(hasEnded && isArmed && write() == nil)
    }
}
