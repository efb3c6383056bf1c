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
    /// The user's change to the clock, in minutes; `nil` if there is none. 32,767: a greater one; -32,768: a lesser
    /// one.
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
