import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// Operations that wait for a more secure link while the peer's services change.
@Suite struct RaisedOperationTests {
    private static let hashRequest: [UInt8] = [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x2A, 0x2B]
    private static let heartRate = CharacteristicSelector.uuid(
        BluetoothUUID.Characteristics.heartRateMeasurement,
        service: nil
    )

    private static var reading: LinkMachine.Target {
        .characteristic(heartRate, anyOf: []) { ReadValue(handle: $0.valueHandle) }
    }

    /// A machine that knows one chosen service.
    private static func machine() -> LinkMachine {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        machine.add(GATTDatabase(services: [.heartRate(at: 1)]), of: [.heartRate])
        return machine
    }

    /// The services come into doubt, and then the link is secure.
    ///
    /// - Returns: what is sent behind the request that looks whether they have changed.
    private static func doubtAndRaise(_ machine: inout LinkMachine) -> [UInt8]? {
        var output = LinkMachine.Output()
        machine.outOfSync(&output)
        machine.raised(machine.lastRaise, .done, &output)
        let request = machine.send(&output)
        #expect(request == hashRequest)
        // There is no hash.
        machine.receive([0x01, 0x08, 0x01, 0x00, 0x0A], &output)
        return machine.send(&output)
    }

    @Test(arguments: [false, true])
    func `a refused read isn't repeated at the handle of before`(isInDoubt: Bool) {
        var machine = Self.machine()
        var output = LinkMachine.Output()
        _ = machine.begin(Self.reading, &output)
        let read = machine.send(&output)
        #expect(read == [0x0A, 3, 0])
        // Insufficient Encryption.
        machine.receive([0x01, 0x0A, 3, 0, 0x0F], &output)
        guard isInDoubt else {
            machine.raised(machine.lastRaise, .done, &output)
            let again = machine.send(&output)
            #expect(again == read)
            return
        }
        let next = Self.doubtAndRaise(&machine)
        #expect(next?.first == 0x10)
        #expect(machine.operations.map(\.stage) == [.finding])
    }

    @Test(arguments: [false, true])
    func `what waits for the demanded security isn't begun at the handle of before`(isSubscription: Bool) {
        var machine = Self.machine()
        machine.demands[Self.heartRate] = .encrypted
        var output = LinkMachine.Output()
        if isSubscription {
            let consumer = ValueConsumer(object: "of 2A37", deliver: { _ in }, finish: { _ in })
            _ = machine.subscribe(Self.heartRate, indications: false, pass: nil, consumer, &output)
        } else {
            _ = machine.begin(Self.reading, &output)
        }
        let early = machine.send(&output)
        #expect(early == nil)
        let next = Self.doubtAndRaise(&machine)
        #expect(next?.first == 0x10)
        #expect(machine.operations.map(\.stage) == [.finding])
    }
}
