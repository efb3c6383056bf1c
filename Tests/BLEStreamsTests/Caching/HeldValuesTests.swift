import BLEProtocol
import Synchronization
import Testing

@testable import BLEStreams

/// What becomes of values that come while nobody knows whether the handle still means what it meant.
@Suite struct HeldValuesTests {
    private final class Inbox: Sendable {
        let taken = Mutex<[UInt8]>([])
        let lost = Mutex(0)

        var consumer: ValueConsumer {
            ValueConsumer(
                object: "of 2A37",
                deliver: { values in self.taken.withLock { $0 += values.map { $0[0] } } },
                lost: { count in self.lost.withLock { $0 += count } },
                finish: { _ in }
            )
        }
    }

    private static let handle: UInt16 = 3
    private static let database = GATTDatabase(services: [
        GATTService(
            uuid: .heartRate,
            handle: 1,
            endHandle: 4,
            characteristics: [
                Characteristic(
                    uuid: BluetoothUUID(0x2A37),
                    properties: .notify,
                    handle: 2,
                    valueHandle: handle,
                    endHandle: 4,
                    descriptors: []
                )
            ]
        )
    ])

    /// A machine with one subscriber, whose characteristic is known.
    private static func machine(_ consumer: ValueConsumer) -> LinkMachine {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        machine.add(database, of: [.heartRate])
        _ = machine.subscribe(.handle(handle), indications: false, pass: nil, consumer, &output)
        return machine
    }

    private static func values(_ octets: UInt8...) -> [CharacteristicValue] {
        octets.map { CharacteristicValue(bytes: [$0], time: ReceptionTime(sinceEpoch: .zero, source: .simulation)) }
    }

    private static let unchanged = DatabaseTracker.Known(database: database, news: .unchanged)
    private static let first = DatabaseTracker.Known(database: database, news: .first)
    private static let changed = DatabaseTracker.Known(
        database: GATTDatabase(),
        news: .changed(before: database, affected: 1...4)
    )

    @Test func `values in doubt wait, and go on in order`() {
        let inbox = Inbox()
        var machine = Self.machine(inbox.consumer)
        machine.carryOut { $0.received(Self.values(1), of: Self.handle, &$1) }
        machine.shut(1...4)
        machine.carryOut { $0.received(Self.values(2, 3), of: Self.handle, &$1) }
        machine.carryOut { $0.received(Self.values(4), of: Self.handle, &$1) }
        #expect(inbox.taken.withLock { $0 } == [1])
        machine.carryOut { $0.take(Self.unchanged, &$1) }
        machine.carryOut { $0.received(Self.values(5), of: Self.handle, &$1) }
        #expect(inbox.taken.withLock { $0 } == [1, 2, 3, 4, 5] && inbox.lost.withLock { $0 } == 0)
    }

    @Test func `values in doubt go on once all services are known for the first time`() {
        let inbox = Inbox()
        var machine = Self.machine(inbox.consumer)
        machine.shut(1...4)
        machine.carryOut { $0.received(Self.values(1), of: Self.handle, &$1) }
        machine.carryOut { $0.take(Self.first, &$1) }
        machine.carryOut { $0.received(Self.values(2), of: Self.handle, &$1) }
        #expect(inbox.taken.withLock { $0 } == [1, 2] && inbox.lost.withLock { $0 } == 0)
    }

    @Test func `values in doubt of a characteristic that the first known services lack end`() {
        let inbox = Inbox()
        var machine = Self.machine(inbox.consumer)
        machine.shut(1...4)
        var output = LinkMachine.Output()
        machine.received(Self.values(1), of: Self.handle, &output)
        machine.take(DatabaseTracker.Known(database: GATTDatabase(), news: .first), &output)
        let notices = output.rest?.notices ?? []
        let hasEnded = notices.contains { if case .ended(_, .servicesChanged?) = $0 { true } else { false } }
        #expect(hasEnded)
    }

    @Test func `services that are forgotten while values are in doubt are asked for at once`() {
        let inbox = Inbox()
        var machine = Self.machine(inbox.consumer)
        machine.shut(1...4)
        var output = LinkMachine.Output()
        machine.forget(&output)
        let asked = machine.nextOutgoing()?.pdu.first
        #expect(asked == 0x08)
    }

    @Test func `what comes while others are handed over stays behind them`() {
        let inbox = Inbox()
        var machine = Self.machine(inbox.consumer)
        machine.shut(1...4)
        var output = LinkMachine.Output()
        machine.received(Self.values(1), of: Self.handle, &output)
        machine.take(Self.unchanged, &output)
        #expect(output.deliveries.isEmpty && output.consumer != nil)
        let first = machine.takeHeld(1)
        machine.received(Self.values(2), of: Self.handle, &output)
        #expect(output.deliveries.isEmpty, "it would overtake what is being handed over")
        let second = machine.takeHeld(1)
        #expect(first?.values == Self.values(1) && second?.values == Self.values(2))
        let third = machine.takeHeld(1)
        #expect(third == nil)
        machine.received(Self.values(3), of: Self.handle, &output)
        #expect(output.deliveries.map(\.values) == [Self.values(3)])
    }

    @Test func `a doubt that comes back while values are handed over stops that`() {
        let inbox = Inbox()
        var machine = Self.machine(inbox.consumer)
        machine.shut(1...4)
        machine.carryOut { $0.received(Self.values(1), of: Self.handle, &$1) }
        var output = LinkMachine.Output()
        machine.take(Self.unchanged, &output)
        machine.shut(1...4)
        let held = machine.takeHeld(1)
        #expect(held == nil)
        machine.carryOut { $0.take(Self.unchanged, &$1) }
        #expect(inbox.taken.withLock { $0 } == [1])
    }

    @Test func `what came early and waits is delivered before the end, and what is in doubt is counted`() {
        let inbox = Inbox()
        for isInDoubt in [false, true] {
            var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
            var output = LinkMachine.Output()
            machine.begin(now: .zero, &output)
            machine.add(Self.database, of: [.heartRate])
            machine.received(Self.values(1, 2), of: Self.handle, &output)
            _ = machine.subscribe(.handle(Self.handle), indications: false, pass: nil, inbox.consumer, &output)
            if isInDoubt { machine.shut(1...4) }
            // Nobody has handed it over yet.
            machine.carryOut { _ = $0.ended(DisconnectReason(.supervisionTimeout), &$1) }
        }
        #expect(inbox.taken.withLock { $0 } == [1, 2] && inbox.lost.withLock { $0 } == 2)
    }

    @Test func `values that may be somebody else's are not delivered`() {
        let inbox = Inbox()
        var machine = Self.machine(inbox.consumer)
        machine.shut(1...4)
        machine.carryOut { $0.received(Self.values(1, 2), of: Self.handle, &$1) }
        machine.carryOut { $0.take(Self.changed, &$1) }
        machine.carryOut { $0.received(Self.values(3), of: Self.handle, &$1) }
        #expect(inbox.taken.withLock { $0 } == [])
    }

    @Test func `a flood in doubt takes no more than its room, and the rest is counted`() {
        let inbox = Inbox()
        var machine = Self.machine(inbox.consumer)
        machine.shut(1...4)
        for _ in 0..<500 { machine.carryOut { $0.received(Self.values(1, 2, 3), of: Self.handle, &$1) } }
        machine.carryOut { $0.take(Self.unchanged, &$1) }
        #expect(inbox.taken.withLock { $0.count } == LinkMachine.HeldValues.room)
        #expect(inbox.lost.withLock { $0 } == 1500 - LinkMachine.HeldValues.room)
    }
}

extension LinkMachine.Output {
    fileprivate var consumer: ValueConsumer? {
        for case .held(let consumer, _) in rest?.notices ?? [] { return consumer }
        return nil
    }
}
