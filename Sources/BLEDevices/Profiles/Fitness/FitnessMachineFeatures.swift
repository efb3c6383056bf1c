public import BLEStreams

/// What a fitness machine can measure, and what can be set on it (Fitness Machine Service 1.0, 4.3.1).
///
/// ```swift
/// let features = try await link.read(.fitnessMachineFeatures)
/// guard features.settings.contains(.power) else { return }
/// let powers = try await link.read(.supportedPowers)
/// ```
public struct FitnessMachineFeatures: Hashable, Sendable {
    /// What a machine measures. Bits that are reserved are preserved.
    public struct Measures: OptionSet, Hashable, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// The average speed.
        public static let averageSpeed = Measures(rawValue: 1 << 0)
        /// The cadence.
        public static let cadence = Measures(rawValue: 1 << 1)
        /// The total distance.
        public static let totalDistance = Measures(rawValue: 1 << 2)
        /// The inclination.
        public static let inclination = Measures(rawValue: 1 << 3)
        /// The elevation gain.
        public static let elevationGain = Measures(rawValue: 1 << 4)
        /// The pace.
        public static let pace = Measures(rawValue: 1 << 5)
        /// The number of steps.
        public static let stepCount = Measures(rawValue: 1 << 6)
        /// The resistance level.
        public static let resistance = Measures(rawValue: 1 << 7)
        /// The number of strides.
        public static let strideCount = Measures(rawValue: 1 << 8)
        /// The expended energy.
        public static let expendedEnergy = Measures(rawValue: 1 << 9)
        /// The heart rate.
        public static let heartRate = Measures(rawValue: 1 << 10)
        /// The metabolic equivalent.
        public static let metabolicEquivalent = Measures(rawValue: 1 << 11)
        /// The elapsed time.
        public static let elapsedTime = Measures(rawValue: 1 << 12)
        /// The remaining time.
        public static let remainingTime = Measures(rawValue: 1 << 13)
        /// The power.
        public static let power = Measures(rawValue: 1 << 14)
        /// The force on a belt, and its power.
        public static let force = Measures(rawValue: 1 << 15)
        /// The machine keeps the data of its users.
        public static let userData = Measures(rawValue: 1 << 16)
    }

    /// What can be set with ``FitnessMachineControl``. Bits that are reserved are preserved.
    public struct Settings: OptionSet, Hashable, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// The speed.
        public static let speed = Settings(rawValue: 1 << 0)
        /// The inclination.
        public static let inclination = Settings(rawValue: 1 << 1)
        /// The resistance.
        public static let resistance = Settings(rawValue: 1 << 2)
        /// The power.
        public static let power = Settings(rawValue: 1 << 3)
        /// The heart rate.
        public static let heartRate = Settings(rawValue: 1 << 4)
        /// The energy to be expended.
        public static let energy = Settings(rawValue: 1 << 5)
        /// The number of steps.
        public static let steps = Settings(rawValue: 1 << 6)
        /// The number of strides.
        public static let strides = Settings(rawValue: 1 << 7)
        /// The distance.
        public static let distance = Settings(rawValue: 1 << 8)
        /// The training time.
        public static let duration = Settings(rawValue: 1 << 9)
        /// The training time in two zones of the heart rate.
        public static let twoZones = Settings(rawValue: 1 << 10)
        /// The training time in three zones of the heart rate.
        public static let threeZones = Settings(rawValue: 1 << 11)
        /// The training time in five zones of the heart rate.
        public static let fiveZones = Settings(rawValue: 1 << 12)
        /// A simulated ride on an indoor bike.
        public static let simulation = Settings(rawValue: 1 << 13)
        /// The circumference of the wheel.
        public static let wheelCircumference = Settings(rawValue: 1 << 14)
        /// The spin-down, with which a trainer is calibrated.
        public static let spinDown = Settings(rawValue: 1 << 15)
        /// The cadence.
        public static let cadence = Settings(rawValue: 1 << 16)
    }

    /// What the machine measures.
    public var measures: Measures
    /// What can be set.
    public var settings: Settings

    /// Creates a value from its parts.
    public init(measures: Measures, settings: Settings) { (self.measures, self.settings) = (measures, settings) }
}

extension FitnessMachineFeatures.Measures: CustomStringConvertible {
    /// The names of what is in it, as `cadence, power`; empty if nothing is.
    public var description: String {
        named([
            "average speed", "cadence", "total distance", "inclination", "elevation gain", "pace",
            "step count", "resistance", "stride count", "expended energy", "heart rate",
            "metabolic equivalent", "elapsed time", "remaining time", "power", "force", "user data",
        ])
    }
}

extension FitnessMachineFeatures.Settings: CustomStringConvertible {
    /// The names of what is in it, as `resistance, power`; empty if nothing is.
    public var description: String {
        named([
            "speed", "inclination", "resistance", "power", "heart rate", "energy", "steps", "strides",
            "distance", "duration", "two zones", "three zones", "five zones", "simulation",
            "wheel circumference", "spin-down", "cadence",
        ])
    }
}

extension OptionSet where RawValue: FixedWidthInteger {
    /// The names of the bits that are set, from bit 0 on; a bit without a name is called by its number.
    func named(_ names: [String]) -> String {
        (0..<RawValue.bitWidth).filter { rawValue >> RawValue($0) & 1 == 1 }
            .map { $0 < names.count ? names[$0] : "bit \($0)" }
            .joined(separator: ", ")
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<FitnessMachineFeatures> {
    /// Fitness Machine Feature, 2ACC: read.
    public static var fitnessMachineFeatures: Self {
        TypedCharacteristic(BluetoothUUID(0x2ACC)) { reader throws(MalformedValue) in
            FitnessMachineFeatures(
                measures: .init(rawValue: try reader.uint32()),
                settings: .init(rawValue: try reader.uint32())
            )
        } encode: { value, writer throws(MalformedValue) in
            writer.uint32(value.measures.rawValue)
            writer.uint32(value.settings.rawValue)
        }
    }
}
