import BLEStreams

// Parameters that the control points of several services have.

extension ValueReader {
    /// All octets that are left.
    mutating func rest() throws(MalformedValue) -> [UInt8] { Array(try bytes(remaining.count)) }

    /// The place of a sensor.
    mutating func location() throws(MalformedValue) -> SensorLocation {
        let number = try uint8()
        guard let location = SensorLocation(rawValue: number) else { throw MalformedValue("\(number) is reserved") }
        return location
    }

    /// A list of places, without reserved ones.
    mutating func locations() throws(MalformedValue) -> [SensorLocation] {
        try rest().compactMap(SensorLocation.init(rawValue:))
    }
}
