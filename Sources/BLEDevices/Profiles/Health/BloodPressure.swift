public import BLEStreams

/// A measurement of a blood-pressure monitor (Blood Pressure Service 1.1, 3.1).
public struct BloodPressureMeasurement: Hashable, Sendable {
    /// What the pressures are measured in.
    public enum Unit: Hashable, Sendable {
        /// Millimetres of mercury.
        case millimetresOfMercury
        /// Kilopascals.
        case kilopascals
    }

    /// What may have disturbed a measurement.
    public struct Status: OptionSet, Hashable, Sendable {
        public let rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }
        /// The body moved.
        public static let bodyMovement = Status(rawValue: 1 << 0)
        /// The cuff is too loose.
        public static let cuffTooLoose = Status(rawValue: 1 << 1)
        /// The pulse is irregular.
        public static let irregularPulse = Status(rawValue: 1 << 2)
        /// The pulse rate is above the upper limit.
        public static let pulseAboveRange = Status(rawValue: 1 << 3)
        /// The pulse rate is below the lower limit.
        public static let pulseBelowRange = Status(rawValue: 1 << 4)
        /// The cuff is worn at the wrong height.
        public static let improperPosition = Status(rawValue: 1 << 5)
    }

    /// The systolic pressure; in an intermediate value, the cuff's pressure.
    public var systolic: MedicalNumber
    /// The diastolic pressure; not a number in an intermediate value.
    public var diastolic: MedicalNumber
    /// The mean arterial pressure; not a number in an intermediate value.
    public var meanArterial: MedicalNumber
    /// What the pressures are measured in.
    public var unit: Unit
    /// When it was measured, by the device's clock; `nil` if not reported.
    public var measuredAt: DateTime?
    /// The pulse, in beats per minute; `nil` if not reported.
    public var pulseRate: MedicalNumber?
    /// The user's number; `nil` if not reported, 255: unknown.
    public var user: Int?
    /// What may have disturbed the measurement; `nil` if not reported.
    public var status: Status?

    /// Creates a measurement from its values.
    public init(
        systolic: MedicalNumber,
        diastolic: MedicalNumber,
        meanArterial: MedicalNumber,
        unit: Unit = .millimetresOfMercury,
        measuredAt: DateTime? = nil,
        pulseRate: MedicalNumber? = nil,
        user: Int? = nil,
        status: Status? = nil
    ) {
        (self.systolic, self.diastolic, self.meanArterial, self.unit) = (systolic, diastolic, meanArterial, unit)
        (self.measuredAt, self.pulseRate, self.user, self.status) = (measuredAt, pulseRate, user, status)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<BloodPressureMeasurement> {
    /// Blood Pressure Measurement, 2A35: indicated when a measurement is complete.
    public static var bloodPressureMeasurement: Self { .pressure(.Characteristics.bloodPressureMeasurement) }

    /// Intermediate Cuff Pressure, 2A36: notified while a measurement is under way; its systolic pressure is the
    /// cuff's.
    public static var intermediateCuffPressure: Self { .pressure(.Characteristics.intermediateCuffPressure) }

    private static func pressure(_ uuid: BluetoothUUID) -> Self {
        TypedCharacteristic(uuid) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint8())
            return BloodPressureMeasurement(
                systolic: try reader.sfloat(),
                diastolic: try reader.sfloat(),
                meanArterial: try reader.sfloat(),
                unit: flags[0] ? .kilopascals : .millimetresOfMercury,
                measuredAt: try reader.dateTime(if: flags[1]),
                pulseRate: try reader.sfloat(if: flags[2]),
                user: try reader.uint8(if: flags[3]),
                status: flags[4] ? BloodPressureMeasurement.Status(rawValue: try reader.uint16()) : nil
            )
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt8> = Flags([
                0: value.unit == .kilopascals, 1: value.measuredAt != nil, 2: value.pulseRate != nil,
                3: value.user != nil, 4: value.status != nil,
            ])
            writer.uint8(flags.bits)
            try writer.sfloat(value.systolic)
            try writer.sfloat(value.diastolic)
            try writer.sfloat(value.meanArterial)
            try writer.put(value.measuredAt)
            try writer.put(value.pulseRate)
            try writer.put(value.user, as: UInt8.self, "the user")
            if let status = value.status { writer.uint16(status.rawValue) }
        }
    }
}
