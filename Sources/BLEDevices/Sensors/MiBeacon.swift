public import BLEStreams

/// The advertisement of a Xiaomi sensor, service data of 0xFE95, if it is not encrypted.
///
/// An advertisement tells one thing at a time. Many newer devices encrypt; ``isEncrypted`` says so, and the values are
/// `nil`.
///
/// Source: Xiaomi's MiBeacon protocol, versions 2 to 5, as published for developers of its Internet of things.
public struct MiBeacon: Hashable, Sendable {
    /// The kind of device, by Xiaomi's number.
    public var product: UInt16
    /// Counts frames; wraps at 255. The same frame is advertised several times.
    public var counter: Int
    /// The device's own address, if the frame contains it.
    public var address: BluetoothAddress?
    /// Whether the values are encrypted.
    public var isEncrypted: Bool
    /// Degrees Celsius.
    public var temperature: Double?
    /// Percent.
    public var humidity: Double?
    /// The charge of the battery, in percent.
    public var batteryLevel: Int?
    /// Lux.
    public var illuminance: Int?
    /// The moisture of soil, in percent.
    public var moisture: Int?
    /// The conductivity of soil, in microsiemens per centimetre.
    public var conductivity: Int?
    /// Formaldehyde, in milligrams per cubic metre.
    public var formaldehyde: Double?

    /// Decodes an advertisement; `nil` if it is in another format.
    public init?(_ advertisement: AdvertisingData) {
        guard let data = advertisement.serviceData(for: BluetoothUUID(0xFE95)), data.count >= 5 else { return nil }
        let octets = Octets(data)
        let control = octets.littleEndian(0, 2)
        guard (2...5).contains(control >> 12) else { return nil }
        product = UInt16(octets.littleEndian(2, 2))
        counter = octets.littleEndian(4, 1)
        isEncrypted = control & 0x0008 != 0
        var place = 5
        if control & 0x0010 != 0 {
            guard octets.count >= place + 6 else { return nil }
            address = BluetoothAddress(rawValue: UInt64(octets.littleEndian(place, 6)), kind: .public)
            place += 6
        }
        if control & 0x0020 != 0 {
            // Two more octets if the capability indicates input or output.
            place += octets.littleEndian(place, 1) & 0x20 != 0 ? 3 : 1
        }
        guard control & 0x0040 != 0, !isEncrypted else { return }
        while octets.count >= place + 3 {
            let (object, length) = (octets.littleEndian(place, 2), octets.littleEndian(place + 2, 1))
            place += 3
            guard octets.count >= place + length else { return }
            read(object, length, octets, at: place)
            place += length
        }
    }

    private mutating func read(_ object: Int, _ length: Int, _ octets: Octets, at place: Int) {
        switch (object, length) {
        case (0x1004, 2): temperature = Double(octets.signedLittleEndian(place, 2)) / 10
        case (0x1006, 2): humidity = Double(octets.littleEndian(place, 2)) / 10
        case (0x1007, 3): illuminance = octets.littleEndian(place, 3)
        case (0x1008, 1): moisture = octets.littleEndian(place, 1)
        case (0x1009, 2): conductivity = octets.littleEndian(place, 2)
        case (0x100A, 1): batteryLevel = octets.littleEndian(place, 1)
        case (0x100D, 4):
            temperature = Double(octets.signedLittleEndian(place, 2)) / 10
            humidity = Double(octets.littleEndian(place + 2, 2)) / 10
        case (0x1010, 2): formaldehyde = Double(octets.littleEndian(place, 2)) / 100
        default: break
        }
    }
}
