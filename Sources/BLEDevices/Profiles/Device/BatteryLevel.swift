import BLEProtocol
public import BLEStreams

extension CharacteristicKey where Self == TypedCharacteristic<Int> {
    /// Battery Level, 2A19: the charge in percent, 0 to 100; larger values are reserved, and are returned
    /// unchanged (Battery Service 1.0, 3.1).
    public static var batteryLevel: Self {
        TypedCharacteristic(BluetoothUUID.Characteristics.batteryLevel) { reader throws(MalformedValue) in
            Int(try reader.uint8())
        } encode: { percent, writer throws(MalformedValue) in
            guard let octet = UInt8(exactly: percent) else { throw MalformedValue("\(percent) % exceeds an octet") }
            writer.uint8(octet)
        }
    }
}
