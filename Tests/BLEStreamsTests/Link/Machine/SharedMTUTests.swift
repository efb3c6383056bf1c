import BLEProtocol
import Testing

@testable import BLEStreams

/// The ATT_MTU of a link is the same for both halves of the protocol.
@Suite struct SharedMTUTests {
    @Test func `what comes right behind the answer to an exchange may be as long as the new MTU allows`() {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        _ = machine.begin(.aside(ExchangeMTU()), &output)
        let request = machine.send(&output)
        #expect(request == [0x02, 0x05, 0x02])
        // Nothing is sent in between, as when the radio is full.
        machine.receive([0x03, 100, 0], &output)
        var database = AttributeDatabase(services: [
            LocalService(BluetoothUUID(0xA000)) {
                LocalCharacteristic(BluetoothUUID(0xA001), [.writeWithoutResponse], value: .stored([]))
            }
        ])
        let value = [UInt8](repeating: 7, count: 97)
        machine.served([0x52, 3, 0] + value, security: .none, database: &database, &output)
        #expect(database.value(at: 3) == value)
    }
}
