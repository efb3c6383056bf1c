public import BLEStreams

/// What a pulse oximeter supports (Pulse Oximeter Service 1.0.1, 3.3).
public struct OximeterFeatures: Hashable, Sendable {
    /// What it supports beside the bits of its statuses. Bits that are reserved are preserved.
    public struct Supported: OptionSet, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }
        /// It stores spot-check measurements.
        public static let storage = Supported(rawValue: 1 << 2)
        /// Its spot-check measurements have a time.
        public static let timestamp = Supported(rawValue: 1 << 3)
        /// ``ContinuousOximeterMeasurement/fast``.
        public static let fast = Supported(rawValue: 1 << 4)
        /// ``ContinuousOximeterMeasurement/slow``.
        public static let slow = Supported(rawValue: 1 << 5)
        /// The amplitude of the pulse.
        public static let amplitudeIndex = Supported(rawValue: 1 << 6)
        /// It can be bonded with several devices.
        public static let severalBonds = Supported(rawValue: 1 << 7)

        /// The names of what is in it, as `storage, timestamp`; empty if nothing is.
        public var description: String {
            named([
                "measurement status", "device status", "storage", "timestamp", "fast", "slow", "amplitude index",
                "several bonds",
            ])
        }

        /// The bits that announce the fields of the statuses.
        fileprivate static let fields = Supported(rawValue: 0b11)
    }

    /// What it supports.
    public var supported: Supported
    /// The bits of the measurement's status that it sets; `nil` if it has no such status.
    public var measurementStatus: UInt16?
    /// The bits of the status of device and sensor that it sets; `nil` if it has no such status.
    public var deviceStatus: UInt32?

    /// Creates a value from its parts.
    public init(supported: Supported, measurementStatus: UInt16? = nil, deviceStatus: UInt32? = nil) {
        (self.supported, self.measurementStatus, self.deviceStatus) = (supported, measurementStatus, deviceStatus)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<OximeterFeatures> {
    /// PLX Features, 2A60: read.
    public static var oximeterFeatures: Self {
        TypedCharacteristic(BluetoothUUID(0x2A60)) { reader throws(MalformedValue) in
            let flags = Flags(try reader.uint16())
            return OximeterFeatures(
                supported: OximeterFeatures.Supported(rawValue: flags.bits).subtracting(.fields),
                measurementStatus: flags[0] ? try reader.uint16() : nil,
                deviceStatus: flags[1] ? try reader.uint24() : nil
            )
        } encode: { value, writer throws(MalformedValue) in
            let fields: Flags<UInt16> = Flags([0: value.measurementStatus != nil, 1: value.deviceStatus != nil])
            writer.uint16(value.supported.subtracting(.fields).rawValue | fields.bits)
            if let status = value.measurementStatus { writer.uint16(status) }
            if let status = value.deviceStatus { writer.uint24(status) }
        }
    }
}
