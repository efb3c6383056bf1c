import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// A subscription to a chosen service, put off by the peer's answer that its services may have changed.
@Suite struct PostponedSubscriptionTests {
    private static let measured = BluetoothUUID(0x2A37)

    /// The heart rate, at these handles and the next two.
    private static func database(at handle: UInt16) -> GATTDatabase {
        let configuration = Descriptor(uuid: BluetoothUUID(0x2902), handle: handle + 3)
        let characteristic = Characteristic(
            uuid: measured,
            properties: .notify,
            handle: handle + 1,
            valueHandle: handle + 2,
            endHandle: handle + 3,
            descriptors: [configuration]
        )
        return GATTDatabase(services: [
            GATTService(
                uuid: .heartRate,
                handle: handle,
                endHandle: handle + 3,
                characteristics: [characteristic]
            )
        ])
    }

    private static func receive(_ pdu: [UInt8], _ machine: inout LinkMachine, _ output: inout LinkMachine.Output) {
        _ = machine.received(pdu, at: ReceptionTime(sinceEpoch: .zero, source: .simulation), &output)
    }

    /// Takes the next PDU; `nil` if there is none.
    private static func send(_ machine: inout LinkMachine, _ output: inout LinkMachine.Output) -> [UInt8]? {
        guard let outgoing = machine.nextOutgoing() else { return nil }
        machine.handedOver(outgoing, .sent, &output)
        return outgoing.pdu
    }

    /// A machine whose subscription was answered with Database Out Of Sync, and that reads the hash because of that.
    private static func postponed(_ consumer: ValueConsumer) -> LinkMachine {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        machine.add(database(at: 1), of: [.heartRate])
        let selector = CharacteristicSelector.uuid(measured, service: nil)
        _ = machine.subscribe(selector, indications: false, pass: nil, consumer, &output)
        let write = send(&machine, &output)
        #expect(write == [0x12, 4, 0, 1, 0])
        receive([0x01, 0x12, 4, 0, 0x12], &machine, &output)
        let read = send(&machine, &output)
        #expect(read == [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x2A, 0x2B])
        return machine
    }

    @Test(arguments: [1, 21] as [UInt16])
    func `it is made again where its characteristic is, once all services are known`(handle: UInt16) {
        var machine = Self.postponed(ValueConsumer(object: "of 2A37", deliver: { _ in }, finish: { _ in }))
        var output = LinkMachine.Output()
        let known = DatabaseTracker.Known(database: Self.database(at: handle), news: .first)
        machine.take(known, &output)
        // There is no hash; the discovery that follows comes behind.
        Self.receive([0x01, 0x08, 0x01, 0x00, 0x0A], &machine, &output)
        let write = Self.send(&machine, &output)
        #expect(write == [0x12, UInt8(handle) + 3, 0, 1, 0])
        Self.receive([0x13], &machine, &output)
        let notices = output.rest?.notices ?? []
        let isArmed = notices.contains { if case .armed = $0 { true } else { false } }
        #expect(isArmed)
    }

    @Test func `it ends with the error when the services can't be discovered`() {
        var machine = Self.postponed(ValueConsumer(object: "of 2A37", deliver: { _ in }, finish: { _ in }))
        var output = LinkMachine.Output()
        machine.failSubscriptions(.cancelled, &output)
        let notices = output.rest?.notices ?? []
        let hasEnded = notices.contains { if case .ended(_, .procedure?) = $0 { true } else { false } }
        #expect(hasEnded)
    }
}
