public import BLEStreams

/// The unencrypted advertisement of a Xiaomi thermometer with free firmware: service data of 0x181A.
///
/// Both formats are decoded: that of the first such firmware (13 octets, "ATC1441"), and that of the later one ("PVVX",
/// 15 octets). These firmwares support BTHome too; ``BTHome`` decodes that.
///
/// Source: the firmwares' own pages, github.com/atc1441/ATC_MiThermometer and github.com/pvvx/ATC_MiThermometer.
public struct ATCThermometer: Hashable, Sendable {
    /// The thermometer's own address.
    public var address: BluetoothAddress
    /// Degrees Celsius, in steps of 0.1 or 0.01.
    public var temperature: Double
    /// Percent, in steps of 1 or 0.01.
    public var humidity: Double
    /// The charge of the battery, in percent.
    public var batteryLevel: Int
    /// The voltage of the battery, in volts.
    public var battery: Double
    /// Counts measurements; wraps at 255.
    public var counter: Int

    /// Decodes an advertisement; `nil` if it is in another format, or encrypted.
    public init?(_ advertisement: AdvertisingData) {
        guard let data = advertisement.serviceData(for: BluetoothUUID(0x181A)) else { return nil }
        let octets = Octets(data)
        let isFirst = octets.count == 13
        guard isFirst || octets.count == 15 else { return nil }
        let own = isFirst ? octets.unsigned(0, 6) : octets.littleEndian(0, 6)
        address = BluetoothAddress(rawValue: UInt64(own), kind: .public)
        if isFirst {
            temperature = Double(octets.signed(6, 2)) / 10
            humidity = Double(octets.unsigned(8, 1))
            batteryLevel = octets.unsigned(9, 1)
            battery = Double(octets.unsigned(10, 2)) / 1000
            counter = octets.unsigned(12, 1)
        } else {
            temperature = Double(octets.signedLittleEndian(6, 2)) / 100
            humidity = Double(octets.littleEndian(8, 2)) / 100
            battery = Double(octets.littleEndian(10, 2)) / 1000
            batteryLevel = octets.littleEndian(12, 1)
            counter = octets.littleEndian(13, 1)
        }
    }
}
