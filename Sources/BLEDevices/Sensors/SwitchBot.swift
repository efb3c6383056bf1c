public import BLEStreams

/// The unencrypted advertisement of a SwitchBot device: service data of 0xFD3D (older firmware: 0x0D00).
///
/// Source: SwitchBot's own description of its advertisements, github.com/OpenWonderLabs/SwitchBotAPI-BLE.
public struct SwitchBot: Hashable, Sendable {
    /// A kind of device.
    public enum Kind: UInt8, Hashable, Sendable {
        /// Bot, which pushes buttons.
        case bot = 0x48
        /// Meter.
        case meter = 0x54
        /// Meter Plus.
        case meterPlus = 0x69
        /// Contact Sensor.
        case contact = 0x64
        /// Motion Sensor.
        case motion = 0x73
    }

    /// The kind of device.
    public var kind: Kind
    /// The charge of the battery, in percent.
    public var batteryLevel: Int
    /// Degrees Celsius, in steps of 0.1; for a thermometer.
    public var temperature: Double?
    /// Percent; for a thermometer.
    public var humidity: Int?
    /// Whether a bot that works as a switch is on.
    public var isOn: Bool?
    /// Whether a motion or contact sensor detects somebody.
    public var noticesMotion: Bool?

    /// Decodes an advertisement; `nil` if it is another maker's or another device's, encrypted, or a thermometer's
    /// without values.
    public init?(_ advertisement: AdvertisingData) {
        let services = [BluetoothUUID(0xFD3D), BluetoothUUID(0x0D00)]
        guard let data = services.lazy.compactMap({ advertisement.serviceData(for: $0) }).first, data.count >= 3 else {
            return nil
        }
        let octets = Octets(data)
        // The highest bit means that it is encrypted, in add mode.
        guard let kind = Kind(rawValue: UInt8(octets.unsigned(0, 1))) else { return nil }
        self.kind = kind
        batteryLevel = octets.unsigned(2, 1) & 0x7F
        switch kind {
        case .meter, .meterPlus:
            guard octets.count >= 6 else { return nil }
            let (tenths, whole) = (octets.unsigned(3, 1) & 0x0F, octets.unsigned(4, 1))
            let size = Double((whole & 0x7F) * 10 + tenths) / 10
            temperature = whole & 0x80 != 0 ? size : -size
            humidity = octets.unsigned(5, 1) & 0x7F
            // Zero in each field, also in the battery's: no value. Source: pySwitchbot, `_sensor_th.py`.
            if size == 0, humidity == 0, batteryLevel == 0 { return nil }
        case .bot:
            let state = octets.unsigned(1, 1)
            // The bit is cleared if the switch is on.
            isOn = state & 0x80 != 0 ? state & 0x40 == 0 : nil
        case .contact, .motion:
            noticesMotion = octets.unsigned(1, 1) & 0x40 != 0
        }
    }
}
