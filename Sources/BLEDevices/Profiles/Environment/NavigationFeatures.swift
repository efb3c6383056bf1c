public import BLEStreams

/// What a navigation device tells, and what can be set on it (Location and Navigation Service 1.0, 3.1). Bits that are
/// reserved are preserved.
public struct NavigationFeatures: OptionSet, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// The speed.
    public static let speed = NavigationFeatures(rawValue: 1 << 0)
    /// The total distance.
    public static let distance = NavigationFeatures(rawValue: 1 << 1)
    /// The position.
    public static let place = NavigationFeatures(rawValue: 1 << 2)
    /// The elevation.
    public static let elevation = NavigationFeatures(rawValue: 1 << 3)
    /// The heading.
    public static let heading = NavigationFeatures(rawValue: 1 << 4)
    /// The rolling time.
    public static let rollingTime = NavigationFeatures(rawValue: 1 << 5)
    /// The time in UTC.
    public static let time = NavigationFeatures(rawValue: 1 << 6)
    /// The remaining distance.
    public static let remainingDistance = NavigationFeatures(rawValue: 1 << 7)
    /// The remaining vertical distance.
    public static let remainingVertical = NavigationFeatures(rawValue: 1 << 8)
    /// The estimated time of arrival.
    public static let arrival = NavigationFeatures(rawValue: 1 << 9)
    /// The number of beacons in the solution.
    public static let beaconsInSolution = NavigationFeatures(rawValue: 1 << 10)
    /// The number of beacons in view.
    public static let beaconsInView = NavigationFeatures(rawValue: 1 << 11)
    /// The time to the first fix.
    public static let timeToFirstFix = NavigationFeatures(rawValue: 1 << 12)
    /// The estimated horizontal error.
    public static let horizontalError = NavigationFeatures(rawValue: 1 << 13)
    /// The estimated vertical error.
    public static let verticalError = NavigationFeatures(rawValue: 1 << 14)
    /// The horizontal dilution of precision.
    public static let horizontalDilution = NavigationFeatures(rawValue: 1 << 15)
    /// The vertical dilution of precision.
    public static let verticalDilution = NavigationFeatures(rawValue: 1 << 16)
    /// Fields of ``LocationAndSpeed`` can be turned off: ``NavigationControl/omit(_:)``.
    public static let omission = NavigationFeatures(rawValue: 1 << 17)
    /// The time between two fixes can be set.
    public static let fixInterval = NavigationFeatures(rawValue: 1 << 18)
    /// The elevation can be set.
    public static let elevationSetting = NavigationFeatures(rawValue: 1 << 19)
    /// The quality of the position.
    public static let positionStatus = NavigationFeatures(rawValue: 1 << 20)

    /// The names of what is in it, as `speed, place`; empty if nothing is.
    public var description: String {
        named([
            "speed", "distance", "place", "elevation", "heading", "rolling time", "time", "remaining distance",
            "remaining vertical", "arrival", "beacons in solution", "beacons in view", "time to first fix",
            "horizontal error", "vertical error", "horizontal dilution", "vertical dilution", "omission",
            "fix interval", "elevation setting", "position status",
        ])
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<NavigationFeatures> {
    /// LN Feature, 2A6A: read.
    public static var navigationFeatures: Self { .bits(BluetoothUUID(0x2A6A)) }
}
