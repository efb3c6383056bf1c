public import BLEStreams

/// What a blood-pressure monitor detects (Blood Pressure Service 1.1, 3.3). Bits that are reserved are preserved.
public struct BloodPressureFeatures: OptionSet, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    /// Movement of the body.
    public static let bodyMovement = BloodPressureFeatures(rawValue: 1 << 0)
    /// Whether the cuff fits.
    public static let cuffFit = BloodPressureFeatures(rawValue: 1 << 1)
    /// An irregular pulse.
    public static let irregularPulse = BloodPressureFeatures(rawValue: 1 << 2)
    /// A pulse beyond its limits.
    public static let pulseRange = BloodPressureFeatures(rawValue: 1 << 3)
    /// A cuff at the wrong height.
    public static let position = BloodPressureFeatures(rawValue: 1 << 4)
    /// It can be bonded with several devices.
    public static let severalBonds = BloodPressureFeatures(rawValue: 1 << 5)

    /// The names of what is in it, as `cuff fit, irregular pulse`; empty if nothing is.
    public var description: String {
        named(["body movement", "cuff fit", "irregular pulse", "pulse range", "position", "several bonds"])
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<BloodPressureFeatures> {
    /// Blood Pressure Feature, 2A49: read.
    public static var bloodPressureFeatures: Self { .bits(.Characteristics.bloodPressureFeature) }
}
