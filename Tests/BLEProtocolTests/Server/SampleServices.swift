import BLEProtocol

/// What the server of the tests offers; the handles are in the comments.
enum SampleServices {
    static let vendorService: BluetoothUUID = "A0000000-0000-0000-0000-000000000001"
    static let vendorValue: BluetoothUUID = "B0000000-0000-0000-0000-000000000002"

    static let all = [
        LocalService(BluetoothUUID(0x180A)) {  // 1 to 7
            LocalCharacteristic(BluetoothUUID(0x2A29), [.read], value: .text("Acme"))  // 2, 3
            LocalCharacteristic(  // 4, 5
                BluetoothUUID(0x2A24),
                [.read, .write],
                value: .stored([1, 2, 3, 4]),
                maximumLength: 4,
                hasFixedLength: true
            )
            LocalCharacteristic(  // 6, 7
                BluetoothUUID(0x2A25),
                [.read, .write, .writeWithoutResponse],
                value: .stored(Array(0..<30)),
                maximumLength: 40
            )
        },
        LocalService(vendorService) {  // 8 to 20
            LocalCharacteristic(  // 9, 10
                vendorValue,
                [.read, .write, .writeWithoutResponse],
                value: .dynamic,
                maximumLength: 100
            )
            LocalCharacteristic(BluetoothUUID(0x2A37), [.notify, .indicate])  // 11, 12; 13 configures
            LocalCharacteristic(BluetoothUUID(0x2A38), [.indicate], access: .encrypted)  // 14, 15; 16 configures
            LocalCharacteristic(  // 17, 18
                BluetoothUUID(0x2A39),
                [.read, .write],
                value: .stored([9]),
                access: .authenticated(keySize: 16)
            )
            LocalCharacteristic(BluetoothUUID(0x2A3A), [.write])  // 19, 20
        },
    ]
}

extension ServedClient {
    /// A client of the sample services.
    static func ofSample(maximumMTU: Int = 517, limits: ATTServer.Limits = .init()) -> ServedClient {
        ServedClient(SampleServices.all, maximumMTU: maximumMTU, limits: limits)
    }
}
