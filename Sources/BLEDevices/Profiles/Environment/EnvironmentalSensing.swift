public import BLEStreams

// The Environmental Sensing Service 1.0.1; formats and units as in the GATT Specification Supplement. A value that the
// sensor reports as unknown is `nan`.

extension CharacteristicKey where Self == TypedCharacteristic<Double> {
    /// Temperature, 2A6E: degrees Celsius, in steps of 0.01; `nan`: unknown.
    public static var temperature: Self {
        .scaled(.Characteristics.temperature, by: 100, unknown: Int16.min, "the temperature")
    }
    /// Humidity, 2A6F: percent, in steps of 0.01; `nan`: unknown.
    public static var humidity: Self {
        .scaled(.Characteristics.humidity, by: 100, unknown: UInt16.max, "the humidity")
    }
    /// Pressure, 2A6D: pascals, in steps of 0.1.
    public static var pressure: Self {
        .scaled(.Characteristics.pressure, by: 10, unknown: UInt32?.none, "the pressure")
    }
    /// Dew Point, 2A7B: degrees Celsius.
    public static var dewPoint: Self { .scaled(BluetoothUUID(0x2A7B), by: 1, unknown: Int8?.none, "the dew point") }
    /// Heat Index, 2A7A: degrees Celsius.
    public static var heatIndex: Self { .scaled(BluetoothUUID(0x2A7A), by: 1, unknown: Int8?.none, "the heat index") }
    /// Wind Chill, 2A79: degrees Celsius.
    public static var windChill: Self { .scaled(BluetoothUUID(0x2A79), by: 1, unknown: Int8?.none, "the wind chill") }
    /// UV Index, 2A76.
    public static var uvIndex: Self {
        .scaled(.Characteristics.uvIndex, by: 1, unknown: UInt8?.none, "the UV index")
    }
    /// Apparent Wind Speed, 2A72: metres per second, in steps of 0.01.
    public static var apparentWindSpeed: Self {
        .scaled(BluetoothUUID(0x2A72), by: 100, unknown: UInt16?.none, "the wind speed")
    }
    /// Apparent Wind Direction, 2A73: degrees from the bow, in steps of 0.01.
    public static var apparentWindDirection: Self {
        .scaled(BluetoothUUID(0x2A73), by: 100, unknown: UInt16?.none, "the wind direction")
    }
    /// True Wind Speed, 2A70: metres per second, in steps of 0.01.
    public static var trueWindSpeed: Self {
        .scaled(BluetoothUUID(0x2A70), by: 100, unknown: UInt16?.none, "the wind speed")
    }
    /// True Wind Direction, 2A71: degrees from north, in steps of 0.01.
    public static var trueWindDirection: Self {
        .scaled(BluetoothUUID(0x2A71), by: 100, unknown: UInt16?.none, "the wind direction")
    }
    /// Rainfall, 2A78: metres, in steps of 0.001.
    public static var rainfall: Self {
        .scaled(BluetoothUUID(0x2A78), by: 1000, unknown: UInt16?.none, "the rainfall")
    }
    /// Irradiance, 2A77: watts per square metre, in steps of 0.1.
    public static var irradiance: Self {
        .scaled(BluetoothUUID(0x2A77), by: 10, unknown: UInt16?.none, "the irradiance")
    }
    /// CO₂ Concentration, 2B8C: parts per million; `nan`: unknown.
    public static var carbonDioxide: Self {
        .scaled(BluetoothUUID(0x2B8C), by: 1, unknown: UInt16.max, "the concentration")
    }
    /// Elevation, 2A6C: metres, in steps of 0.01.
    public static var elevation: Self {
        TypedCharacteristic(.Characteristics.elevation) { reader throws(MalformedValue) in
            Double(try reader.int24()) / 100
        } encode: { metres, writer throws(MalformedValue) in
            try writer.putElevation(metres)
        }
    }

    /// A characteristic whose value is a number in fractional steps.
    private static func scaled<Field: FixedWidthInteger & Sendable>(
        _ uuid: BluetoothUUID,
        by steps: Double,
        unknown: Field?,
        _ name: String
    ) -> Self {
        TypedCharacteristic(uuid) { reader throws(MalformedValue) in
            let octets = try reader.bytes(Field.bitWidth / 8)
            let field = octets.reversed().reduce(Field.zero) { $0 << 8 | Field(truncatingIfNeeded: $1) }
            return field == unknown ? .nan : Double(field) / steps
        } encode: { value, writer throws(MalformedValue) in
            if value.isNaN, let unknown {
                try writer.put(Int(unknown), as: Field.self, name)
            } else {
                try writer.put(value, by: steps, as: Field.self, name)
            }
        }
    }
}
