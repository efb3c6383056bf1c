public import BLEStreams

/// A record of a glucose meter (Glucose Service 1.0.1, 3.1).
public struct GlucoseMeasurement: Hashable, Sendable {
    /// A concentration in blood.
    public struct Concentration: Hashable, Sendable {
        /// What a concentration is measured in.
        public enum Unit: Hashable, Sendable {
            /// Kilograms per litre.
            case kilogramsPerLitre
            /// Moles per litre.
            case molesPerLitre
        }

        /// The concentration, in the unit.
        public var value: MedicalNumber
        /// What it is measured in.
        public var unit: Unit
        /// The kind of the fluid: 1 capillary whole blood, 2 capillary plasma, 3 venous whole blood, 4 venous plasma, 5
        /// arterial whole blood, 6 arterial plasma, 7 undetermined whole blood, 8 undetermined plasma, 9 interstitial
        /// fluid, 10 control solution.
        public var sampleType: Int
        /// Where the sample was taken: 1 finger, 2 alternate site, 3 earlobe, 4 control solution, 15 not available.
        public var sampleLocation: Int

        /// Creates a concentration from its values.
        public init(_ value: MedicalNumber, _ unit: Unit, sampleType: Int, sampleLocation: Int) {
            (self.value, self.unit) = (value, unit)
            (self.sampleType, self.sampleLocation) = (sampleType, sampleLocation)
        }

        /// The concentration of glucose in milligrams per decilitre; its molar mass is 180.156 g/mol.
        public var milligramsPerDecilitre: Double {
            switch unit {
            case .kilogramsPerLitre: value.value * 100_000
            case .molesPerLitre: value.value * 18_015.6
            }
        }
    }

    /// Counts the records of the device.
    public var sequenceNumber: Int
    /// When it was taken, by the device's clock before any change by the user.
    public var baseTime: DateTime
    /// The user's change to the clock, in minutes; `nil` if there is none.
    public var timeOffset: Int?
    /// The result; `nil` if the record only reports a failure.
    public var concentration: Concentration?
    /// The status of the sensor, one bit each (Glucose Service, Sensor Status Annunciation); `nil` if not reported.
    public var sensorStatus: UInt16?
    /// Whether a ``GlucoseMeasurementContext`` with the same number follows.
    public var hasContext: Bool

    /// Creates a record from its values.
    public init(
        sequenceNumber: Int,
        baseTime: DateTime,
        timeOffset: Int? = nil,
        concentration: Concentration? = nil,
        sensorStatus: UInt16? = nil,
        hasContext: Bool = false
    ) {
        (self.sequenceNumber, self.baseTime, self.timeOffset) = (sequenceNumber, baseTime, timeOffset)
        (self.concentration, self.sensorStatus, self.hasContext) = (concentration, sensorStatus, hasContext)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<GlucoseMeasurement> {
    /// Glucose Measurement, 2A18: notified once for each record requested by the Record Access Control Point.
    public static var glucoseMeasurement: Self {
        TypedCharacteristic(.Characteristics.glucoseMeasurement) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint8())
            var value = GlucoseMeasurement(
                sequenceNumber: Int(try reader.uint16()),
                baseTime: try reader.dateTime(),
                timeOffset: try reader.int16(if: flags[0]),
                hasContext: flags[4]
            )
            if flags[1] {
                let number = try reader.sfloat()
                let place = try reader.uint8()
                value.concentration = GlucoseMeasurement.Concentration(
                    number,
                    flags[2] ? .molesPerLitre : .kilogramsPerLitre,
                    sampleType: Int(place & 0x0F),
                    sampleLocation: Int(place >> 4)
                )
            }
            if flags[3] { value.sensorStatus = try reader.uint16() }
            return value
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt8> = Flags([
                0: value.timeOffset != nil, 1: value.concentration != nil,
                2: value.concentration?.unit == .molesPerLitre, 3: value.sensorStatus != nil, 4: value.hasContext,
            ])
            writer.uint8(flags.bits)
            try writer.put(value.sequenceNumber, as: UInt16.self, "the sequence number")
            try writer.dateTime(value.baseTime)
            try writer.put(value.timeOffset, as: Int16.self, "the time offset")
            if let concentration = value.concentration {
                try writer.sfloat(concentration.value)
                guard (0...15).contains(concentration.sampleType), (0...15).contains(concentration.sampleLocation)
                else {
                    throw MalformedValue("the type and the location of the sample are not between 0 and 15")
                }
                writer.uint8(UInt8(concentration.sampleType | concentration.sampleLocation << 4))
            }
            if let status = value.sensorStatus { writer.uint16(status) }
        }
    }
}

/// The circumstances of a glucose measurement: a meal, exercise, medication (Glucose Service 1.0.1, 3.2).
public struct GlucoseMeasurementContext: Hashable, Sendable {
    /// An amount of something.
    public struct Amount: Hashable, Sendable {
        /// The kind, by its number in the specification: 1 breakfast, 2 lunch …; 1 rapid-acting insulin, 2 short-acting
        /// ….
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
