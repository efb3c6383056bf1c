import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// Centrals whose stored state was read only after the peripheral had ended.
@Suite struct LateAdmissionTests {
    private static let served = LocalPeripheral(name: "Brief") {
        LocalService(BluetoothUUID(0xD000)) {
            LocalCharacteristic(BluetoothUUID(0xD001), [.read], value: .stored([1]))
        }
    }

    @Test func `a central that comes too late is let go, and its link with it`() async throws {
        let radio = FakeRadio(FakeLink(answers: []))
        let server = try PeripheralServer(Self.served, radio: radio, store: .inMemory(), warning: { _ in })
        await server.stop()
        weak var link: FakeLink?
        func offer() {
            let late = FakeLink(answers: [])
            link = late
            server.admit(late, 0, ServedCentrals.Kept(record: nil, isBonded: false))
        }
        offer()
        #expect(link == nil && server.centrals.isEmpty)
    }
}
