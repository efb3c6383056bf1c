import BLEStreams

// Parameters that the control points of several services have.

extension ValueReader {
    /// All octets that are left.
    mutating func rest() throws(MalformedValue) -> [UInt8] { Array(try bytes(remaining.count)) }

    /// One octet, of which some numbers have a meaning; the others are reserved, and malformed.
    mutating func choice<Value: RawRepresentable<UInt8>>() throws(MalformedValue) -> Value {
        let number = try uint8()
        guard let value = Value(rawValue: number) else { throw MalformedValue("\(number) is reserved") }
        return value
    }

    /// A list of places, without reserved ones.
    mutating func locations() throws(MalformedValue) -> [SensorLocation] {
        try rest().compactMap(SensorLocation.init(rawValue:))
    }
}
