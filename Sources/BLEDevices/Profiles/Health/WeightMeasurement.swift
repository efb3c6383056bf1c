public import BLEStreams

/// A measurement of a weight scale (Weight Scale Service 1.0, 3.2).
public struct WeightMeasurement: Hashable, Sendable {
    /// The unit and resolution of a mass.
    public enum Unit: Hashable, Sendable {
        /// Kilograms, in steps of 5 g.
        case kilograms
        /// Pounds, in steps of 0.01 lb.
        case pounds
    }

    /// The mass, in the unit; `nil` if the measurement failed.
    public var weight: Double?
    /// The unit.
    public var unit: Unit
    /// When it was measured, by the device's clock; `nil` if not reported.
    public var measuredAt: DateTime?
    /// The user's number; `nil` if not reported, 255: unknown.
    public var user: Int?
    /// The body mass index, in kilograms per square metre; `nil` if not reported.
    public var bodyMassIndex: Double?
    /// The user's height, in metres or, with pounds, in inches; present whenever the index is.
    public var height: Double?

    /// Creates a measurement from its values.
    public init(_ weight: Double?, unit: Unit = .kilograms, measuredAt: DateTime? = nil, user: Int? = nil) {
        (self.weight, self.unit, self.measuredAt, self.user) = (weight, unit, measuredAt, user)
    }

    /// The mass in kilograms; `nil` if the measurement failed.
    public var kilograms: Double? { weight.map { unit == .kilograms ? $0 : $0 * 0.45359237 } }
}

extension WeightMeasurement.Unit {
    /// The number of steps in one unit.
    var massSteps: Double { self == .kilograms ? 200 : 100 }
    var heightSteps: Double { self == .kilograms ? 1000 : 10 }
}

extension CharacteristicKey where Self == TypedCharacteristic<WeightMeasurement> {
    /// Weight Measurement, 2A9D: indicated when a measurement is complete.
    public static var weightMeasurement: Self {
        TypedCharacteristic(.Characteristics.weightMeasurement) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint8())
            let unit = flags[0] ? WeightMeasurement.Unit.pounds : .kilograms
            let steps = try reader.uint16()
            var value = WeightMeasurement(
                steps == .max ? nil : Double(steps) / unit.massSteps,
                unit: unit,
                measuredAt: try reader.dateTime(if: flags[1]),
                user: try reader.uint8(if: flags[2])
            )
            if flags[3] {
                value.bodyMassIndex = Double(try reader.uint16()) / 10
                value.height = Double(try reader.uint16()) / unit.heightSteps
            }
            return value
        } encode: { value, writer throws(MalformedValue) in
            guard (value.bodyMassIndex == nil) == (value.height == nil) else {
                throw MalformedValue("set the body mass index and the height, both or neither")
            }
            let flags: Flags<UInt8> = Flags([
                0: value.unit == .pounds, 1: value.measuredAt != nil, 2: value.user != nil,
                3: value.bodyMassIndex != nil,
            ])
            writer.uint8(flags.bits)
            if let weight = value.weight {
                try writer.put(weight, by: value.unit.massSteps, as: UInt16.self, "the weight")
            } else {
                writer.uint16(.max)
            }
            try writer.put(value.measuredAt)
            try writer.put(value.user, as: UInt8.self, "the user")
            try writer.put(value.bodyMassIndex, by: 10, as: UInt16.self, "the body mass index")
            try writer.put(value.height, by: value.unit.heightSteps, as: UInt16.self, "the height")
        }
    }
}
