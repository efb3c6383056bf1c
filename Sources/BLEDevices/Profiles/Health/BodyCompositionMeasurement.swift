public import BLEStreams

/// A measurement of a body composition scale (Body Composition Service 1.0, 3.2).
public struct BodyCompositionMeasurement: Hashable, Sendable {
    /// The fat percentage; `nil` if the measurement failed.
    public var bodyFat: Double?
    /// What masses and the height are measured in.
    public var unit: WeightMeasurement.Unit
    /// When it was measured, by the device's clock; `nil` if not reported.
    public var measuredAt: DateTime?
    /// The user's number; `nil` if not reported, 255: unknown.
    public var user: Int?
    /// The basal metabolism, in kilojoules per day.
    public var basalMetabolism: Int?
    /// The muscle percentage.
    public var muscle: Double?
    /// The muscle mass, in the unit.
    public var muscleMass: Double?
    /// The fat-free mass, in the unit.
    public var fatFreeMass: Double?
    /// The soft lean mass, without fat and bone, in the unit.
    public var softLeanMass: Double?
    /// The body water mass, in the unit.
    public var bodyWaterMass: Double?
    /// The impedance, in ohms.
    public var impedance: Double?
    /// The weight, in the unit.
    public var weight: Double?
    /// The height, in metres or inches.
    public var height: Double?
    /// Whether this is one of several packets of the measurement.
    public var isPartOfSeveral: Bool

    /// Creates a measurement from its values.
    public init(bodyFat: Double?, unit: WeightMeasurement.Unit = .kilograms) {
        (self.bodyFat, self.unit, isPartOfSeveral) = (bodyFat, unit, false)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<BodyCompositionMeasurement> {
    /// Body Composition Measurement, 2A9C: indicated when a measurement is complete.
    public static var bodyCompositionMeasurement: Self {
        TypedCharacteristic(BluetoothUUID(0x2A9C)) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint16())
            let unit = flags[0] ? WeightMeasurement.Unit.pounds : .kilograms
            func scaled(_ steps: Double, if isThere: Bool) throws(MalformedValue) -> Double? {
                try reader.uint16(if: isThere).map { Double($0) / steps }
            }
            let fat = try reader.uint16()
            var value = BodyCompositionMeasurement(bodyFat: fat == .max ? nil : Double(fat) / 10, unit: unit)
            value.measuredAt = try reader.dateTime(if: flags[1])
            value.user = try reader.uint8(if: flags[2])
            value.basalMetabolism = try reader.uint16(if: flags[3])
            value.muscle = try scaled(10, if: flags[4])
            value.muscleMass = try scaled(unit.massSteps, if: flags[5])
            value.fatFreeMass = try scaled(unit.massSteps, if: flags[6])
            value.softLeanMass = try scaled(unit.massSteps, if: flags[7])
            value.bodyWaterMass = try scaled(unit.massSteps, if: flags[8])
            value.impedance = try scaled(10, if: flags[9])
            value.weight = try scaled(unit.massSteps, if: flags[10])
            value.height = try scaled(unit.heightSteps, if: flags[11])
            value.isPartOfSeveral = flags[12]
            return value
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt16> = Flags([
                0: value.unit == .pounds, 1: value.measuredAt != nil, 2: value.user != nil,
                3: value.basalMetabolism != nil, 4: value.muscle != nil, 5: value.muscleMass != nil,
                6: value.fatFreeMass != nil, 7: value.softLeanMass != nil, 8: value.bodyWaterMass != nil,
                9: value.impedance != nil, 10: value.weight != nil, 11: value.height != nil, 12: value.isPartOfSeveral,
            ])
            let mass = value.unit.massSteps
            writer.uint16(flags.bits)
            if value.bodyFat == nil { writer.uint16(.max) }
            try writer.put(value.bodyFat, by: 10, as: UInt16.self, "the fat percentage")
            try writer.put(value.measuredAt)
            try writer.put(value.user, as: UInt8.self, "the user")
            try writer.put(value.basalMetabolism, as: UInt16.self, "the basal metabolism")
            try writer.put(value.muscle, by: 10, as: UInt16.self, "the muscle percentage")
            try writer.put(value.muscleMass, by: mass, as: UInt16.self, "the muscle mass")
            try writer.put(value.fatFreeMass, by: mass, as: UInt16.self, "the fat-free mass")
            try writer.put(value.softLeanMass, by: mass, as: UInt16.self, "the soft lean mass")
            try writer.put(value.bodyWaterMass, by: mass, as: UInt16.self, "the body water mass")
            try writer.put(value.impedance, by: 10, as: UInt16.self, "the impedance")
            try writer.put(value.weight, by: mass, as: UInt16.self, "the weight")
            try writer.put(value.height, by: value.unit.heightSteps, as: UInt16.self, "the height")
        }
    }
}
