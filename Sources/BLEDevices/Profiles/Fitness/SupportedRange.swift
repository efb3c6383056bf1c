public import BLEStreams

/// The values that a fitness machine accepts for one of its settings (Fitness Machine Service 1.0, 4.11 to 4.15).
public struct SupportedRange: Hashable, Sendable {
    /// The least value, in the unit of the setting.
    public var minimum: Double
    /// The greatest value.
    public var maximum: Double
    /// The smallest step between two values.
    public var increment: Double

    /// Creates a range from its values.
    public init(minimum: Double, maximum: Double, increment: Double) {
        (self.minimum, self.maximum, self.increment) = (minimum, maximum, increment)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<SupportedRange> {
    /// Supported Speed Range, 2AD4: in kilometres per hour, for ``FitnessMachineControl/setSpeed(_:)``.
    public static var supportedSpeeds: Self { range(0x2AD4, of: UInt16.self, by: 100, increment: UInt16.self) }

    /// Supported Inclination Range, 2AD5: in percent, for ``FitnessMachineControl/setInclination(_:)``.
    public static var supportedInclinations: Self { range(0x2AD5, of: Int16.self, by: 10, increment: UInt16.self) }

    /// Supported Resistance Level Range, 2AD6: without a unit, for ``FitnessMachineControl/setResistance(_:)``.
    public static var supportedResistances: Self { range(0x2AD6, of: Int16.self, by: 10, increment: UInt16.self) }

    /// Supported Heart Rate Range, 2AD7: in beats per minute, for ``FitnessMachineControl/setHeartRate(_:)``.
    public static var supportedHeartRates: Self { range(0x2AD7, of: UInt8.self, by: 1, increment: UInt8.self) }

    /// Supported Power Range, 2AD8: in watts, for ``FitnessMachineControl/setPower(_:)``.
    public static var supportedPowers: Self { range(0x2AD8, of: Int16.self, by: 1, increment: UInt16.self) }

    private static func range<Limit: FixedWidthInteger & Sendable, Step: FixedWidthInteger & Sendable>(
        _ number: UInt16,
        of limit: Limit.Type,
        by steps: Double,
        increment: Step.Type
    ) -> Self {
        TypedCharacteristic(BluetoothUUID(number)) { reader throws(MalformedValue) in
            SupportedRange(
                minimum: Double(try reader.integer(limit)) / steps,
                maximum: Double(try reader.integer(limit)) / steps,
                increment: Double(try reader.integer(increment)) / steps
            )
        } encode: { value, writer throws(MalformedValue) in
            try writer.put(value.minimum, by: steps, as: limit, "the minimum")
            try writer.put(value.maximum, by: steps, as: limit, "the maximum")
            try writer.put(value.increment, by: steps, as: increment, "the increment")
        }
    }
}

extension ValueReader {
    /// An integer of any width, with its lowest octet first.
    fileprivate mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws(MalformedValue) -> Number {
        var number: Number = 0
        for shift in stride(from: 0, to: Number.bitWidth, by: 8) {
            number |= Number(truncatingIfNeeded: try uint8()) << shift
        }
        return number
    }
}
