public import BLEStreams

/// The advertisement of a Govee thermometer: H5072, H5074, H5075, H5101, H5102, H5104, H5174, H5177, as manufacturer
/// data.
///
/// Govee publishes no description; these formats are known from the devices.
public struct Govee: Hashable, Sendable {
    /// Degrees Celsius, in steps of 0.1 or 0.01.
    public var temperature: Double
    /// Percent, in steps of 0.1 or 0.01.
    public var humidity: Double
    /// The charge of the battery, in percent.
    public var batteryLevel: Int

    /// Decodes an advertisement; `nil` if it is in another format, or the sensor reports a failure.
    public init?(_ advertisement: AdvertisingData) {
        if let data = advertisement.manufacturerData(for: 0xEC88) {
            let octets = Octets(data)
            switch octets.count {
            case 6: self.init(packed: octets, at: 1)
            case 7: self.init(separate: octets, at: 1)
            default: return nil
            }
        } else if let data = advertisement.manufacturerData(for: 0x0001), data.count == 6 {
            // The company number belongs to another company; the device's name identifies it. The air quality monitor
            // H5106 has particulate matter in the same number. Source: Theengs Decoder, `H5106_json.h`.
            guard let name = advertisement.localName, name.hasPrefix("GVH51"), !name.hasPrefix("GVH5106") else {
                return nil
            }
            self.init(packed: Octets(data), at: 2)
        } else {
            return nil
        }
    }

    /// Both values in one number of three octets, and the battery, whose highest bit reports a failed sensor.
    private init?(packed octets: Octets, at place: Int) {
        let (number, battery) = (octets.unsigned(place, 3), octets.unsigned(place + 3, 1))
        guard battery & 0x80 == 0 else { return nil }
        let both = number & 0x7F_FFFF
        let size = Double(both / 1000) / 10
        temperature = number & 0x80_0000 == 0 ? size : -size
        humidity = Double(both % 1000) / 10
        batteryLevel = battery
    }

    private init?(separate octets: Octets, at place: Int) {
        temperature = Double(octets.signedLittleEndian(place, 2)) / 100
        humidity = Double(octets.littleEndian(place + 2, 2)) / 100
        batteryLevel = octets.unsigned(place + 4, 1)
    }
}
