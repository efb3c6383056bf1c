public import BLEStreams

/// A body temperature (Health Thermometer Service 1.0, 3.1).
public struct TemperatureMeasurement: Hashable, Sendable {
    /// The unit of a temperature.
    public enum Unit: Hashable, Sendable {
        /// Degrees Celsius.
        case celsius
        /// Degrees Fahrenheit.
        case fahrenheit
    }

    /// Where a temperature is measured.
    public enum Site: UInt8, Hashable, Sendable {
        /// In an armpit.
        case armpit = 1
        /// On the body, wherever.
        case body
        /// At an ear lobe.
        case ear
        /// On a finger.
        case finger
        /// In the gastrointestinal tract.
        case gastrointestinalTract
        /// In the mouth.
        case mouth
        /// In the rectum.
        case rectum
        /// On a toe.
        case toe
        /// At the eardrum.
        case tympanum
    }

    /// The temperature, in the unit.
    public var temperature: MedicalNumber
    /// The unit that the device shows.
    public var unit: Unit
    /// When it was measured, by the device's clock; `nil` if not reported.
    public var measuredAt: DateTime?
    /// Where it was measured; `nil` if not reported, or reserved.
    public var site: Site?

    /// Creates a temperature from its values.
    public init(_ temperature: MedicalNumber, unit: Unit = .celsius, measuredAt: DateTime? = nil, site: Site? = nil) {
        (self.temperature, self.unit, self.measuredAt, self.site) = (temperature, unit, measuredAt, site)
    }

    /// The temperature in degrees Celsius; `nan` if it could not be measured.
    public var celsius: Double { unit == .celsius ? temperature.value : (temperature.value - 32) / 1.8 }
}

extension CharacteristicKey where Self == TypedCharacteristic<TemperatureMeasurement> {
    /// Temperature Measurement, 2A1C: indicated when a measurement is complete.
    public static var temperatureMeasurement: Self { .temperature(.Characteristics.temperatureMeasurement) }

    /// Intermediate Temperature, 2A1E: notified while a measurement is under way.
    public static var intermediateTemperature: Self { .temperature(.Characteristics.intermediateTemperature) }

    private static func temperature(_ uuid: BluetoothUUID) -> Self {
        TypedCharacteristic(uuid) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint8())
            return TemperatureMeasurement(
                try reader.float(),
                unit: flags[0] ? .fahrenheit : .celsius,
                measuredAt: try reader.dateTime(if: flags[1]),
                site: flags[2] ? TemperatureMeasurement.Site(rawValue: try reader.uint8()) : nil
            )
        } encode: { value, writer throws(MalformedValue) in
            let flags: Flags<UInt8> = Flags([
                0: value.unit == .fahrenheit, 1: value.measuredAt != nil, 2: value.site != nil,
            ])
            writer.uint8(flags.bits)
            try writer.float(value.temperature)
            try writer.put(value.measuredAt)
            if let site = value.site { writer.uint8(site.rawValue) }
        }
    }
}
