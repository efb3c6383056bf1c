import BLEProtocol
import BLEStreams

extension TypedCharacteristic where Value: RawRepresentable<UInt8> {
    /// A characteristic of one octet, of which some numbers have a meaning; the others are reserved, and malformed.
    static func choice(_ uuid: BluetoothUUID) -> Self {
        TypedCharacteristic(uuid) { reader throws(MalformedValue) in
            try reader.choice()
        } encode: { value, writer throws(MalformedValue) in
            writer.uint8(value.rawValue)
        }
    }
}

extension TypedCharacteristic where Value: OptionSet, Value.RawValue == UInt16 {
    /// A characteristic of 16 bits; reserved ones are preserved.
    static func bits(_ uuid: BluetoothUUID) -> Self {
        TypedCharacteristic(uuid) { reader throws(MalformedValue) in
            Value(rawValue: try reader.uint16())
        } encode: { value, writer throws(MalformedValue) in
            writer.uint16(value.rawValue)
        }
    }
}

extension TypedCharacteristic where Value: OptionSet, Value.RawValue == UInt32 {
    /// A characteristic of 32 bits; reserved ones are preserved.
    static func bits(_ uuid: BluetoothUUID) -> Self {
        TypedCharacteristic(uuid) { reader throws(MalformedValue) in
            Value(rawValue: try reader.uint32())
        } encode: { value, writer throws(MalformedValue) in
            writer.uint32(value.rawValue)
        }
    }
}
