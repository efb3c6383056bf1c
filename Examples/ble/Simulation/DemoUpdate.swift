import BLEDevices
import BLESimulator
import BLEStreams

/// Two devices in one, whose firmware can be updated over MCUmgr and over the plain protocol.
struct DemoUpdate: DemoDevice {
    let address = BluetoothAddress.demo(0xBF)

    /// As if the passkey were printed on the device.
    let pairing = PairingManner.showsPasskey(123_456)

    private let mcumgr = MCUmgrFirmwareReceiver(running: Self.factoryImage, capacity: 512 << 10)
    private let plain = PlainFirmwareReceiver(model: 7, capacity: 512 << 10)

    /// What runs at first: MCUboot's header, a program of 64 octets, and the hash that names it.
    static let factoryImage: [UInt8] =
        [0x3D, 0xB8, 0xF3, 0x96, 0, 0, 0, 0, 32, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 11)
        + [UInt8](repeating: 0, count: 64)
        + [0x07, 0x69, 40, 0, 0x10, 0, 32, 0] + [UInt8](repeating: 0xB1, count: 32)

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
