import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// An indication is confirmed only once its consumer has it, whichever thread sends at that moment.
@Suite struct ConfirmationOrderTests {
    @Test func `a step that delivers an indication says so, and holds its confirmation back`() throws {
        var world = MachineWorld(seed: 1)
        let consumer = ValueConsumer(object: "of the heart rate", deliver: { _ in }, finish: { _ in })
        world.step { machine, output in
            let target = CharacteristicSelector.uuid(MachineWorld.heartRate, service: nil)
            _ = machine.subscribe(target, indications: true, pass: nil, consumer, &output)
        }
        world.settle()
        let attributes = world.database.attributes(from: 1, through: 0xFFFF)
        let handle = try #require(attributes.first { $0.type == MachineWorld.heartRate }?.handle)
        for (opcode, isIndication) in [(0x1B, false), (0x1D, true)] as [(UInt8, Bool)] {
            var output = LinkMachine.Output()
            let pdu = [opcode, UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8), 7]
            _ = world.machine.received(pdu, at: ReceptionTime(sinceEpoch: .zero, source: .simulation), &output)
            #expect(output.deliveries.map(\.values.count) == [1])
            #expect(output.hasIndication == isIndication)
        }
        world.machine.turn.isHeldBack = true
        #expect(world.machine.nextOutgoing() == nil)
        world.machine.turn.isHeldBack = false
        #expect(world.machine.nextOutgoing()?.pdu == [0x1E])
    }
}
