public import BLEStreams

/// What a power meter measures, and what can be set on it (Cycling Power Service 1.1, 3.1). Bits that are reserved are
/// preserved.
public struct CyclingPowerFeatures: OptionSet, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// The share of one pedal.
    public static let balance = CyclingPowerFeatures(rawValue: 1 << 0)
    /// The accumulated torque.
    public static let torque = CyclingPowerFeatures(rawValue: 1 << 1)
    /// The revolutions of the wheel.
    public static let wheel = CyclingPowerFeatures(rawValue: 1 << 2)
    /// The revolutions of the crank.
    public static let crank = CyclingPowerFeatures(rawValue: 1 << 3)
    /// The extremes of force or torque.
    public static let extremes = CyclingPowerFeatures(rawValue: 1 << 4)
    /// The crank angles of the extremes.
    public static let angles = CyclingPowerFeatures(rawValue: 1 << 5)
    /// The angles of the top and the bottom dead spot.
    public static let deadSpots = CyclingPowerFeatures(rawValue: 1 << 6)
    /// The energy so far.
    public static let energy = CyclingPowerFeatures(rawValue: 1 << 7)
    /// It tells while the offset compensation is under way.
    public static let compensationIndicator = CyclingPowerFeatures(rawValue: 1 << 8)
    /// It compensates its offset: ``CyclingPowerControl/compensateOffset``.
    public static let compensation = CyclingPowerFeatures(rawValue: 1 << 9)
    /// Fields of its measurements can be turned off: ``CyclingPowerControl/omit(_:)``.
    public static let omission = CyclingPowerFeatures(rawValue: 1 << 10)
    /// It can be at several places of the bicycle.
    public static let locations = CyclingPowerFeatures(rawValue: 1 << 11)
    /// The length of the crank can be set.
    public static let crankLength = CyclingPowerFeatures(rawValue: 1 << 12)
    /// The length of the chain can be set.
    public static let chainLength = CyclingPowerFeatures(rawValue: 1 << 13)
    /// The weight of the chain can be set.
    public static let chainWeight = CyclingPowerFeatures(rawValue: 1 << 14)
    /// The span can be set.
    public static let spanLength = CyclingPowerFeatures(rawValue: 1 << 15)
    /// Its magnitudes are torques; without it, they are forces.
    public static let measuresTorque = CyclingPowerFeatures(rawValue: 1 << 16)
    /// The direction of the magnitudes.
    public static let direction = CyclingPowerFeatures(rawValue: 1 << 17)
    /// The date of its calibration in the factory.
    public static let calibrationDate = CyclingPowerFeatures(rawValue: 1 << 18)
    /// It compensates its offset, and tells more of it: ``CyclingPowerControl/compensateOffsetEnhanced``.
    public static let enhancedCompensation = CyclingPowerFeatures(rawValue: 1 << 19)
    /// It can't be one of several sensors of a bicycle; without this and ``distributed``, it doesn't say.
    public static let alone = CyclingPowerFeatures(rawValue: 1 << 20)
    /// It can be one of several sensors of a bicycle.
    public static let distributed = CyclingPowerFeatures(rawValue: 1 << 21)

    /// The names of what is in it, as `crank, compensation`; empty if nothing is.
    public var description: String {
        named([
            "balance", "torque", "wheel", "crank", "extremes", "angles", "dead spots", "energy",
            "compensation indicator", "compensation", "omission", "locations", "crank length", "chain length",
            "chain weight", "span length", "measures torque", "direction", "calibration date",
            "enhanced compensation", "alone", "distributed",
        ])
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<CyclingPowerFeatures> {
    /// Cycling Power Feature, 2A65: read.
    public static var cyclingPowerFeatures: Self { .bits(BluetoothUUID(0x2A65)) }
}
