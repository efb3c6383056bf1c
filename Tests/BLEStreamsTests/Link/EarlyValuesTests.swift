import BLEProtocol
import Testing

@testable import BLEStreams

@Suite struct EarlyValuesTests {
    private static func value(_ octet: UInt8) -> CharacteristicValue {
        CharacteristicValue(bytes: [octet], time: ReceptionTime(sinceEpoch: .zero, source: .reading))
    }

    @Test func `what comes before anybody listens is for the first one who does, in order`() {
        var early = EarlyValues()
        early.begin(now: .seconds(5))
        for octet in 0..<3 as Range<UInt8> { early.keep(Self.value(octet), of: 1, now: .seconds(6)) }
        early.keep(Self.value(9), of: 2, now: .seconds(6))
        #expect(early.take(1, now: .seconds(7)).map { $0[0] } == [0, 1, 2])
        // While these are handed out another one comes.
        early.keep(Self.value(3), of: 1, now: .seconds(7))
        #expect(early.take(1, now: .seconds(7)).map { $0[0] } == [3])
        #expect(early.take(1, now: .seconds(7)).isEmpty)
        early.keep(Self.value(4), of: 1, now: .seconds(8))
        #expect(early.take(1, now: .seconds(8)).isEmpty, "what comes after the first listener has left is nobody's")
        #expect(early.take(2, now: .seconds(8)).map { $0[0] } == [9])
    }

    @Test func `what is under way when the listener that got early values leaves is not the next one's`() throws {
        let consumer = ValueConsumer(object: "of 2A37", deliver: { _ in }, finish: { _ in })
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        machine.begin(now: .zero, &output)
        machine.add(GATTDatabase(services: [.heartRate(at: 1)]), of: [.heartRate])
        machine.received([Self.value(1)], of: 3, &output)
        var id = machine.subscribe(.handle(3), indications: false, pass: nil, consumer, &output)
        let first = try #require(id)
        var early: [UInt8] = []
        while let held = machine.takeHeld(first) { early += held.values.map { $0[0] } }
        #expect(early == [1])
        let on = machine.send(&output)
        #expect(on == [0x12, 4, 0, 1, 0])
        machine.receive([0x13], &output)
        machine.unsubscribe(first, &output)
        let off = machine.send(&output)
        #expect(off == [0x12, 4, 0, 0, 0])
        // The rest of a message, perhaps, whose beginning the first one had.
        machine.received([Self.value(2)], of: 3, &output)
        machine.receive([0x13], &output)
        id = machine.subscribe(.handle(3), indications: false, pass: nil, consumer, &output)
        let second = try #require(id)
        let hasNone = machine.takeHeld(second) == nil
        #expect(hasNone)
    }

    @Test func `after ten seconds nothing is early any more`() {
        var early = EarlyValues()
        early.begin(now: .zero)
        early.keep(Self.value(0), of: 1, now: .seconds(9))
        #expect(early.take(1, now: .seconds(10)).isEmpty)
        early.keep(Self.value(1), of: 2, now: .seconds(11))
        #expect(early.take(2, now: .seconds(1)).isEmpty)
    }

    @Test func `no more are kept than there is room for`() {
        var early = EarlyValues()
        early.begin(now: .zero)
        for _ in 0..<5000 { early.keep(Self.value(0), of: 1, now: .zero) }
        #expect(early.take(1, now: .zero).count == EarlyValues.limit)
    }

    @Test func `what there was no room for is missing behind what was kept`() {
        var early = EarlyValues()
        early.begin(now: .zero)
        for _ in 0..<EarlyValues.limit + 3 { early.keep(Self.value(0), of: 1, now: .zero) }
        early.keep(Self.value(0), of: 2, now: .zero)
        let first = early.take(all: 1, wasSent: true, now: .zero)
        #expect(first?.values.count == EarlyValues.limit)
        #expect(first?.losses == [LinkMachine.Loss(position: EarlyValues.limit, dropped: 3)])
        early.keep(Self.value(9), of: 2, now: .zero)
        let second = early.take(all: 2, wasSent: true, now: .zero)
        #expect(second?.values.map { $0[0] } == [9])
        #expect(second?.losses == [LinkMachine.Loss(position: 0, dropped: 1)])
    }

    @Test func `what came below a level is missing where it was`() {
        var early = EarlyValues()
        early.begin(now: .zero)
        let levels: [LinkSecurity.Level?] = [nil, .authenticated, .encrypted, .secureConnections]
        for (index, level) in levels.enumerated() {
            early.keep(Self.value(UInt8(index)), of: 1, now: .zero)
            early.note(level)
            if index == 1 { early.lost() }
        }
        early.keep(Self.value(9), of: 2, now: .zero)
        early.drop(below: .authenticated, of: 1)
        let first = early.take(all: 1, wasSent: true, now: .zero)
        #expect(first?.values.map { $0[0] } == [1, 3])
        let places = [
            LinkMachine.Loss(position: 0, dropped: 1), LinkMachine.Loss(position: 1, dropped: 1, mayLackMore: true),
        ]
        #expect(first?.losses == places)
        early.demand(.encrypted)
        let second = early.take(all: 2, wasSent: true, now: .zero)
        #expect(second?.values.isEmpty == true)
        #expect(second?.losses == [LinkMachine.Loss(position: 0, dropped: 1, mayLackMore: true)])
    }

    @Test func `what was taken makes room for others`() {
        var early = EarlyValues()
        early.begin(now: .zero)
        for handle in 1...3 as ClosedRange<UInt16> {
            for _ in 0..<EarlyValues.limit { early.keep(Self.value(0), of: handle, now: .zero) }
            #expect(early.take(handle, now: .zero).count == EarlyValues.limit)
        }
    }
}
