import BLEStreams

/// Values to read and write: short and long ones, one that can only be read, one that asks for encryption.
struct DemoValues: DemoDevice {
    // Public, unlike the others.
    let address = BluetoothAddress.demo(0xBD, .public)

    let peripheral = LocalPeripheral(name: "Demo values") {
        LocalService(.demo(0x10)) {
            LocalCharacteristic(.demo(0x11), [.read, .write, .writeWithoutResponse], value: .stored([1, 2, 3, 4, 5])) {
                LocalDescriptor.userDescription("A short value")
            }
            LocalCharacteristic(.demo(0x12), [.read, .write], value: .stored((0..<400).map { UInt8($0 & 0xFF) })) {
                LocalDescriptor.userDescription("A long value")
            }
            LocalCharacteristic(.demo(0x13), [.read], value: .text("read me"))
            LocalCharacteristic(.demo(0x14), [.read, .write], value: .text("secret"), access: .encrypted)
            LocalCharacteristic(.demo(0x15), [.indicate])
        }
    }

    /// Counts up in indications, each after the one before was confirmed.
    func live(_ server: PeripheralServer) async throws {
        for try await change in server.subscriptions(of: .demo(0x15)) where change.isSubscribed {
            do {
                for number in UInt8.min...UInt8.max {
                    try await server.indicate([number], of: .demo(0x15), to: change.central)
                }
            } catch is BLEError {
                // It has left; the next one is waited for.
            }
        }
    }
}
