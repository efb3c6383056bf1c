public import BLEStreams

/// What a cycling sensor measures (Cycling Speed and Cadence Service 1.0, 3.2). Bits that are reserved are preserved.
public struct CyclingFeatures: OptionSet, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    /// The revolutions of the wheel.
    public static let wheel = CyclingFeatures(rawValue: 1 << 0)
    /// The revolutions of the crank.
    public static let crank = CyclingFeatures(rawValue: 1 << 1)
    /// It can be at several places of the bicycle.
    public static let locations = CyclingFeatures(rawValue: 1 << 2)

    /// The names of what is in it, as `wheel, crank`; empty if nothing is.
    public var description: String { named(["wheel", "crank", "locations"]) }
}

/// What a running sensor measures (Running Speed and Cadence Service 1.0, 3.2). Bits that are reserved are preserved.
public struct RunningFeatures: OptionSet, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    /// The length of a stride.
    public static let strideLength = RunningFeatures(rawValue: 1 << 0)
    /// The total distance.
    public static let totalDistance = RunningFeatures(rawValue: 1 << 1)
    /// Whether the person walks or runs.
    public static let walkingOrRunning = RunningFeatures(rawValue: 1 << 2)
    /// It can be calibrated.
    public static let calibration = RunningFeatures(rawValue: 1 << 3)
    /// It can be at several places of the body.
    public static let locations = RunningFeatures(rawValue: 1 << 4)

    /// The names of what is in it, as `stride length, calibration`; empty if nothing is.
    public var description: String {
        named(["stride length", "total distance", "walking or running", "calibration", "locations"])
    }
}

/// Where a sensor of a runner or of a bicycle is (GATT Specification Supplement, Sensor Location).
public enum SensorLocation: UInt8, Hashable, Sendable {
    /// Elsewhere.
    case other = 0
    /// On top of a shoe.
    case topOfShoe
    /// In a shoe.
    case inShoe
    /// At the hip.
    case hip
    /// At the front wheel.
    case frontWheel
    /// At the left crank.
    case leftCrank
    /// At the right crank.
    case rightCrank
    /// In the left pedal.
    case leftPedal
    /// In the right pedal.
    case rightPedal
    /// In the front hub.
    case frontHub
    /// At the rear dropout.
    case rearDropout
    /// At the chainstay.
    case chainstay
    /// At the rear wheel.
    case rearWheel
    /// In the rear hub.
    case rearHub
    /// At the chest.
    case chest
    /// In the spider of the crank.
    case spider
    /// At the chain ring.
    case chainRing
}

extension CharacteristicKey where Self == TypedCharacteristic<CyclingFeatures> {
    /// CSC Feature, 2A5C: read.
    public static var cyclingFeatures: Self { .bits(BluetoothUUID(0x2A5C)) }
}

extension CharacteristicKey where Self == TypedCharacteristic<RunningFeatures> {
    /// RSC Feature, 2A54: read.
    public static var runningFeatures: Self { .bits(BluetoothUUID(0x2A54)) }
}

extension CharacteristicKey where Self == TypedCharacteristic<SensorLocation> {
    /// Sensor Location, 2A5D: read.
    public static var sensorLocation: Self { .choice(BluetoothUUID(0x2A5D)) }
}
