import BLEStreams

/// A heart-rate sensor in a hurry: four measurements a second.
struct DemoHeartRate: DemoDevice {
    let address = BluetoothAddress.demo(0xBB)

    let peripheral = LocalPeripheral(name: "Demo heart rate", appearance: 0x0341) {
        LocalService(BluetoothUUID(0x180D)) {
            LocalCharacteristic(.measurement, [.notify])
            // On the chest.
            LocalCharacteristic(BluetoothUUID(0x2A38), [.read], value: .stored([1]))
        }
        LocalService(BluetoothUUID(0x180F)) {
            LocalCharacteristic(BluetoothUUID(0x2A19), [.read, .notify], value: .stored([87]))
        }
    }

    func live(_ server: PeripheralServer) async throws {
        var step = 0
        while true {
            try await Task.sleep(for: .milliseconds(250))
            let beats = UInt8(72 + [0, 1, 3, 2, 0, -1, -3, -2][step % 8])
            // 8-bit value, sensor contact supported and detected.
            try await server.notify([0x06, beats], of: .measurement)
            step += 1
        }
    }
}

extension CharacteristicKey where Self == BluetoothUUID {
    fileprivate static var measurement: Self { BluetoothUUID(0x2A37) }
}
