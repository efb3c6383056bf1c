public import BLEStreams

/// The circumstances of a glucose measurement: a meal, exercise, medication (Glucose Service 1.0.1, 3.2).
public struct GlucoseMeasurementContext: Hashable, Sendable {
    /// An amount of something.
    public struct Amount: Hashable, Sendable {
        /// The kind, by its number in the specification: 1 breakfast, 2 lunch and so on; 1 rapid-acting insulin,
        /// 2 short-acting insulin and so on.
        public var kind: Int
        /// The amount in kilograms, or in litres if ``isVolume``.
        public var value: MedicalNumber
        /// Whether the amount is a volume.
        public var isVolume: Bool

        /// Creates an amount from its values.
        public init(kind: Int, value: MedicalNumber, isVolume: Bool = false) {
            (self.kind, self.value, self.isVolume) = (kind, value, isVolume)
        }
    }

    /// The record that it belongs to.
    public var sequenceNumber: Int
    /// The carbohydrate eaten, in kilograms.
    public var carbohydrate: Amount?
    /// 1 before a meal, 2 after, 3 fasting, 4 casual, 5 bedtime.
    public var meal: Int?
    /// Who tested: 1 the user, 2 a professional, 3 a laboratory, 15 not available.
    public var tester: Int?
    /// 1 minor, 2 major health issues, 3 menses, 4 stress, 5 none, 15 not available.
    public var health: Int?
    /// The duration of the exercise, in seconds; 65,535: longer.
    public var exerciseDuration: Int?
    /// The intensity of the exercise, in percent.
    public var exerciseIntensity: Int?
    /// The medication taken.
    public var medication: Amount?
    /// The long-term glucose, HbA1c, in percent.
    public var hbA1c: MedicalNumber?

    /// Creates a context from its values.
    public init(sequenceNumber: Int) { self.sequenceNumber = sequenceNumber }
}

extension CharacteristicKey where Self == TypedCharacteristic<GlucoseMeasurementContext> {
    /// Glucose Measurement Context, 2A34: notified after the measurement it belongs to.
    public static var glucoseMeasurementContext: Self {
        TypedCharacteristic(.Characteristics.glucoseMeasurementContext) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint8())
            var value = GlucoseMeasurementContext(sequenceNumber: Int(try reader.uint16()))
            if flags[7] { _ = try reader.uint8() }
            if flags[0] {
                let kind = Int(try reader.uint8())
                value.carbohydrate = GlucoseMeasurementContext.Amount(kind: kind, value: try reader.sfloat())
            }
            value.meal = try reader.uint8(if: flags[1])
            if flags[2] {
                let both = Int(try reader.uint8())
                (value.tester, value.health) = (both & 0x0F, both >> 4)
            }
            value.exerciseDuration = try reader.uint16(if: flags[3])
            value.exerciseIntensity = try reader.uint8(if: flags[3])
            if flags[4] {
                let kind = Int(try reader.uint8())
                let amount = try reader.sfloat()
                value.medication = GlucoseMeasurementContext.Amount(kind: kind, value: amount, isVolume: flags[5])
            }
            value.hbA1c = try reader.sfloat(if: flags[6])
            return value
        } encode: { value, writer throws(MalformedValue) in
            guard (value.exerciseDuration == nil) == (value.exerciseIntensity == nil),
                (value.tester == nil) == (value.health == nil)
            else {
                throw MalformedValue(
                    "set both of the exercise's duration and intensity, or neither; and both of tester and health, or "
                        + "neither"
                )
            }
            let flags: Flags<UInt8> = Flags([
                0: value.carbohydrate != nil, 1: value.meal != nil, 2: value.tester != nil,
                3: value.exerciseDuration != nil, 4: value.medication != nil,
                5: value.medication?.isVolume ?? false, 6: value.hbA1c != nil,
            ])
            writer.uint8(flags.bits)
            try writer.put(value.sequenceNumber, as: UInt16.self, "the sequence number")
            try writer.put(value.carbohydrate?.kind, as: UInt8.self, "the kind of carbohydrate")
            try writer.put(value.carbohydrate?.value)
            try writer.put(value.meal, as: UInt8.self, "the meal")
            if let tester = value.tester, let health = value.health {
                guard (0...15).contains(tester), (0...15).contains(health) else {
                    throw MalformedValue("tester and health are not between 0 and 15")
                }
                writer.uint8(UInt8(tester | health << 4))
            }
            try writer.put(value.exerciseDuration, as: UInt16.self, "the duration of the exercise")
            try writer.put(value.exerciseIntensity, as: UInt8.self, "the intensity of the exercise")
            try writer.put(value.medication?.kind, as: UInt8.self, "the kind of medication")
            try writer.put(value.medication?.value)
            try writer.put(value.hbA1c)
        }
    }
}
