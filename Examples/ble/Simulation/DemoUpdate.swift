import BLEDevices
import BLESimulator
import BLEStreams

/// Two devices in one, whose firmware can be updated over MCUmgr and over the plain protocol.
struct DemoUpdate: DemoDevice {
    let address = BluetoothAddress.demo(0xBF)

    /// As if the passkey were printed on the device.
    let pairing = PairingManner.showsPasskey(123_456)

    private let mcumgr = MCUmgrFirmwareReceiver(capacity: 512 << 10)
    private let plain = PlainFirmwareReceiver(model: 7, capacity: 512 << 10)

    var peripheral: LocalPeripheral {
        LocalPeripheral(name: "Demo update", advertising: [mcumgr.service.uuid]) {
            mcumgr.service
            plain.service
        }
    }

    func live(_ server: PeripheralServer) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await mcumgr.run(on: server) }
            group.addTask { try await plain.run(on: server) }
            try await group.waitForAll()
        }
    }
}
