public import BLEStreams

/// What a weight scale supports (Weight Scale Service 1.0, 3.1).
public struct WeightScaleFeatures: Hashable, Sendable {
    /// What its measurements may have. Bits that are reserved are preserved.
    public struct Supported: OptionSet, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// A time.
        public static let timestamp = Supported(rawValue: 1 << 0)
        /// The number of one of several users.
        public static let severalUsers = Supported(rawValue: 1 << 1)
        /// The body mass index.
        public static let bodyMassIndex = Supported(rawValue: 1 << 2)

        /// The names of what is in it, as `timestamp, several users`; empty if nothing is.
        public var description: String { named(["timestamp", "several users", "body mass index"]) }
    }

    /// What its measurements may have.
    public var supported: Supported
    /// The smallest step of the weight.
    public var mass: MassResolution
    /// The smallest step of the height.
    public var height: HeightResolution

    /// Creates a value from its parts.
    public init(supported: Supported, mass: MassResolution, height: HeightResolution) {
        (self.supported, self.mass, self.height) = (supported, mass, height)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<WeightScaleFeatures> {
    /// Weight Scale Feature, 2A9E: read.
    public static var weightScaleFeatures: Self {
        TypedCharacteristic(BluetoothUUID(0x2A9E)) { reader throws(MalformedValue) in
            let resolutions = Resolutions(try reader.uint32(), at: 3)
            return WeightScaleFeatures(
                supported: WeightScaleFeatures.Supported(rawValue: resolutions.others),
                mass: resolutions.mass,
                height: resolutions.height
            )
        } encode: { value, writer throws(MalformedValue) in
            writer.uint32(try Resolutions.bits(value.supported.rawValue, value.mass, value.height, at: 3))
        }
    }
}
