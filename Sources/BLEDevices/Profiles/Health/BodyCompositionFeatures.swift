public import BLEStreams

/// What a body composition scale supports (Body Composition Service 1.0, 3.1).
public struct BodyCompositionFeatures: Hashable, Sendable {
    /// What its measurements may have. Bits that are reserved are preserved.
    public struct Supported: OptionSet, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// A time.
        public static let timestamp = Supported(rawValue: 1 << 0)
        /// The number of one of several users.
        public static let severalUsers = Supported(rawValue: 1 << 1)
        /// The basal metabolism.
        public static let basalMetabolism = Supported(rawValue: 1 << 2)
        /// The muscle percentage.
        public static let muscle = Supported(rawValue: 1 << 3)
        /// The muscle mass.
        public static let muscleMass = Supported(rawValue: 1 << 4)
        /// The fat-free mass.
        public static let fatFreeMass = Supported(rawValue: 1 << 5)
        /// The soft lean mass.
        public static let softLeanMass = Supported(rawValue: 1 << 6)
        /// The body water mass.
        public static let bodyWaterMass = Supported(rawValue: 1 << 7)
        /// The impedance.
        public static let impedance = Supported(rawValue: 1 << 8)
        /// The weight.
        public static let weight = Supported(rawValue: 1 << 9)
        /// The height.
        public static let height = Supported(rawValue: 1 << 10)

        /// The names of what is in it, as `muscle, weight`; empty if nothing is.
        public var description: String {
            named([
                "timestamp", "several users", "basal metabolism", "muscle", "muscle mass", "fat-free mass",
                "soft lean mass", "body water mass", "impedance", "weight", "height",
            ])
        }
    }

    /// What its measurements may have.
    public var supported: Supported
    /// The smallest step of masses.
    public var mass: MassResolution
    /// The smallest step of the height.
    public var height: HeightResolution

    /// Creates a value from its parts.
    public init(supported: Supported, mass: MassResolution, height: HeightResolution) {
        (self.supported, self.mass, self.height) = (supported, mass, height)
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<BodyCompositionFeatures> {
    /// Body Composition Feature, 2A9B: read.
    public static var bodyCompositionFeatures: Self {
        TypedCharacteristic(BluetoothUUID(0x2A9B)) { reader throws(MalformedValue) in
            let resolutions = Resolutions(try reader.uint32(), at: 11)
            return BodyCompositionFeatures(
                supported: BodyCompositionFeatures.Supported(rawValue: resolutions.others),
                mass: resolutions.mass,
                height: resolutions.height
            )
        } encode: { value, writer throws(MalformedValue) in
            writer.uint32(try Resolutions.bits(value.supported.rawValue, value.mass, value.height, at: 11))
        }
    }
}
