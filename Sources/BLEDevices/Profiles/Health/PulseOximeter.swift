public import BLEStreams

/// A spot-check measurement of a pulse oximeter (Pulse Oximeter Service 1.0.1, 3.1).
public struct SpotCheckMeasurement: Hashable, Sendable {
    /// The oxygen saturation of the blood, in percent.
    public var saturation: MedicalNumber
    /// The pulse, in beats per minute.
    public var pulseRate: MedicalNumber
    /// When it was measured, by the device's clock; `nil` if not reported.
    public var measuredAt: DateTime?
    /// The status of the measurement, one bit each; `nil` if not reported.
    public var measurementStatus: UInt16?
    /// The status of the device and its sensor: 16 bits, and 8 that are reserved; `nil` if not reported.
    public var deviceStatus: UInt32?
    /// The amplitude of the pulse, in percent; `nil` if not reported.
    public var amplitudeIndex: MedicalNumber?
    /// Whether the device's clock has never been set.
    public var isClockUnset: Bool

    /// Creates a measurement from its values.
    public init(
        saturation: MedicalNumber,
        pulseRate: MedicalNumber,
        measuredAt: DateTime? = nil,
        measurementStatus: UInt16? = nil,
        deviceStatus: UInt32? = nil,
        amplitudeIndex: MedicalNumber? = nil,
        isClockUnset: Bool = false
    ) {
        (self.saturation, self.pulseRate, self.measuredAt) = (saturation, pulseRate, measuredAt)
        (self.measurementStatus, self.deviceStatus) = (measurementStatus, deviceStatus)
        (self.amplitudeIndex, self.isClockUnset) = (amplitudeIndex, isClockUnset)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<SpotCheckMeasurement> {
    /// PLX Spot-Check Measurement, 2A5E: indicated when a measurement is complete.
    public static var spotCheckMeasurement: Self {
        TypedCharacteristic(.Characteristics.spotCheckMeasurement) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint8())
            return SpotCheckMeasurement(
                saturation: try reader.sfloat(),
                pulseRate: try reader.sfloat(),
                measuredAt: try reader.dateTime(if: flags[0]),
                measurementStatus: flags[1] ? try reader.uint16() : nil,
                deviceStatus: flags[2] ? try reader.uint24() : nil,
                amplitudeIndex: try reader.sfloat(if: flags[3]),
                isClockUnset: flags[4]
            )
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt8> = Flags([
                0: value.measuredAt != nil, 1: value.measurementStatus != nil, 2: value.deviceStatus != nil,
                3: value.amplitudeIndex != nil, 4: value.isClockUnset,
            ])
            writer.uint8(flags.bits)
            try writer.sfloat(value.saturation)
            try writer.sfloat(value.pulseRate)
            try writer.put(value.measuredAt)
            if let status = value.measurementStatus { writer.uint16(status) }
            if let status = value.deviceStatus { writer.uint24(status) }
            try writer.put(value.amplitudeIndex)
        }
    }
}

/// A continuous measurement of a pulse oximeter (Pulse Oximeter Service 1.0.1, 3.2).
public struct ContinuousOximeterMeasurement: Hashable, Sendable {
    /// A saturation and a pulse rate that belong together.
    public struct Reading: Hashable, Sendable {
        /// The oxygen saturation of the blood, in percent.
        public var saturation: MedicalNumber
        /// The pulse, in beats per minute.
        public var pulseRate: MedicalNumber

        /// Creates a value from its parts.
        public init(saturation: MedicalNumber, pulseRate: MedicalNumber) {
            (self.saturation, self.pulseRate) = (saturation, pulseRate)
        }
    }

    /// With the device's usual averaging.
    public var normal: Reading
    /// With a faster response; `nil` if not reported.
    public var fast: Reading?
    /// With a slower response; `nil` if not reported.
    public var slow: Reading?
    /// The status of the measurement, one bit each; `nil` if not reported.
    public var measurementStatus: UInt16?
    /// The status of the device and its sensor: 16 bits, and 8 that are reserved; `nil` if not reported.
    public var deviceStatus: UInt32?
    /// The amplitude of the pulse, in percent; `nil` if not reported.
    public var amplitudeIndex: MedicalNumber?

    /// Creates a measurement from its values.
    public init(
        normal: Reading,
        fast: Reading? = nil,
        slow: Reading? = nil,
        measurementStatus: UInt16? = nil,
        deviceStatus: UInt32? = nil,
        amplitudeIndex: MedicalNumber? = nil
    ) {
        (self.normal, self.fast, self.slow) = (normal, fast, slow)
        (self.measurementStatus, self.deviceStatus) = (measurementStatus, deviceStatus)
        self.amplitudeIndex = amplitudeIndex
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<ContinuousOximeterMeasurement> {
    /// PLX Continuous Measurement, 2A5F: notified about once a second.
    public static var continuousOximeterMeasurement: Self {
        TypedCharacteristic(.Characteristics.continuousOximeterMeasurement) { reader throws(MalformedValue) in
            func reading() throws(MalformedValue) -> ContinuousOximeterMeasurement.Reading {
                let saturation = try reader.sfloat()
                return ContinuousOximeterMeasurement.Reading(saturation: saturation, pulseRate: try reader.sfloat())
            }
            let flags = Flags(try reader.uint8())
            return ContinuousOximeterMeasurement(
                normal: try reading(),
                fast: flags[0] ? try reading() : nil,
                slow: flags[1] ? try reading() : nil,
                measurementStatus: flags[2] ? try reader.uint16() : nil,
                deviceStatus: flags[3] ? try reader.uint24() : nil,
                amplitudeIndex: try reader.sfloat(if: flags[4])
            )
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt8> = Flags([
                0: value.fast != nil, 1: value.slow != nil, 2: value.measurementStatus != nil,
                3: value.deviceStatus != nil, 4: value.amplitudeIndex != nil,
            ])
            writer.uint8(flags.bits)
            for reading in [value.normal, value.fast, value.slow] {
                try writer.put(reading?.saturation)
                try writer.put(reading?.pulseRate)
            }
            if let status = value.measurementStatus { writer.uint16(status) }
            if let status = value.deviceStatus { writer.uint24(status) }
            try writer.put(value.amplitudeIndex)
        }
    }
}
