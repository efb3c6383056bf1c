public import BLEStreams

/// The advertisement of a RuuviTag: data format 3 (RAWv1) or 5 (RAWv2), as manufacturer data of company 0x0499.
///
/// ```swift
/// for try await device in central.scan(duplicates: .changes) {
///     if let tag = Ruuvi(device.advertisement) { print(device.peripheral.address, tag.temperature ?? .nan) }
/// }
/// ```
///
/// Source: Ruuvi sensor protocols, docs.ruuvi.com.
public struct Ruuvi: Hashable, Sendable {
    /// An acceleration in three directions, in units of standard gravity.
    public struct Acceleration: Hashable, Sendable {
        /// Along the x axis of the sensor.
        public var x: Double
        /// Along its y axis.
        public var y: Double
        /// Along its z axis.
        public var z: Double

        /// Creates a value from its parts.
        public init(x: Double, y: Double, z: Double) { (self.x, self.y, self.z) = (x, y, z) }
    }

    /// 3 or 5.
    public var format: Int
    /// Degrees Celsius; as for all values, `nil` if the sensor is missing or has failed.
    public var temperature: Double?
    /// Percent; values above 100 mean that the sensor needs calibration.
    public var humidity: Double?
    /// Pascals.
    public var pressure: Double?
    /// The acceleration; `nil` if one direction has no value.
    public var acceleration: Acceleration?
    /// The voltage of the battery, in volts.
    public var battery: Double?
    /// The transmission power, in dBm. Format 5 only, like all properties below.
    public var txPower: Int?
    /// Counts movements; wraps at 255.
    public var movements: Int?
    /// Counts measurements; wraps at 65,535.
    public var sequenceNumber: Int?
    /// The tag's own address.
    public var address: BluetoothAddress?

    /// Decodes an advertisement; `nil` if it is another maker's or in another format.
    public init?(_ advertisement: AdvertisingData) {
        guard let data = advertisement.manufacturerData(for: 0x0499) else { return nil }
        let octets = Octets(data)
        switch octets.unsigned(0, 1) {
        case 3 where data.count >= 14: self.init(format3: octets)
        case 5 where data.count >= 24: self.init(format5: octets)
        default: return nil
        }
    }

    private init(format3 octets: Octets) {
        format = 3
        humidity = Double(octets.unsigned(1, 1)) / 2
        let (whole, hundredths) = (octets.unsigned(2, 1), octets.unsigned(3, 1))
        let size = Double(whole & 0x7F) + Double(hundredths) / 100
        temperature = whole & 0x80 == 0 ? size : -size
        pressure = Double(octets.unsigned(4, 2)) + 50_000
        acceleration = Acceleration(
            x: Double(octets.signed(6, 2)) / 1000,
            y: Double(octets.signed(8, 2)) / 1000,
            z: Double(octets.signed(10, 2)) / 1000
        )
        battery = Double(octets.unsigned(12, 2)) / 1000
    }

    private init(format5 octets: Octets) {
        func signed(_ place: Int, by steps: Double) -> Double? {
            let number = octets.signed(place, 2)
            return number == Int(Int16.min) ? nil : Double(number) / steps
        }
        func unsigned(_ place: Int, _ count: Int) -> Int? {
            let number = octets.unsigned(place, count)
            return number == 1 << (8 * count) - 1 ? nil : number
        }
        format = 5
        temperature = signed(1, by: 200)
        humidity = unsigned(3, 2).map { Double($0) / 400 }
        pressure = unsigned(5, 2).map { Double($0) + 50_000 }
        if let x = signed(7, by: 1000), let y = signed(9, by: 1000), let z = signed(11, by: 1000) {
            acceleration = Acceleration(x: x, y: y, z: z)
        }
        let power = octets.unsigned(13, 2)
        battery = power >> 5 == 0x7FF ? nil : Double(1600 + (power >> 5)) / 1000
        txPower = power & 0x1F == 0x1F ? nil : -40 + 2 * (power & 0x1F)
        movements = unsigned(15, 1)
        sequenceNumber = unsigned(16, 2)
        let own = octets.unsigned(18, 6)
        address = own == 1 << 48 - 1 ? nil : BluetoothAddress(rawValue: UInt64(own), kind: .random)
    }
}
