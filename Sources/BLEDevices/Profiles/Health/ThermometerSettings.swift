public import BLEStreams

extension CharacteristicKey where Self == TypedCharacteristic<TemperatureMeasurement.Site> {
    /// Temperature Type, 2A1D: where a thermometer always measures; others tell it with each value.
    public static var temperatureType: Self { .choice(.Characteristics.temperatureType) }
}

extension CharacteristicKey where Self == TypedCharacteristic<Duration> {
    /// Measurement Interval, 2A21: whole seconds up to 65,535 between two measurements; zero: the thermometer measures
    /// when a person makes it (Health Thermometer Service 1.0, 3.4). Read, indicated, and written.
    public static var measurementInterval: Self {
        TypedCharacteristic(.Characteristics.measurementInterval) { reader throws(MalformedValue) in
            .seconds(try reader.uint16())
        } encode: { interval, writer throws(MalformedValue) in
            // Exactly: the quotient of two durations may differ from the integer that it represents.
            let (whole, rest) = interval.components
            guard rest == 0, let seconds = UInt16(exactly: whole) else {
                throw MalformedValue("\(interval) is not whole seconds between 0 and 65535")
            }
            writer.uint16(seconds)
        }
    }
}
