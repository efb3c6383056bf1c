public import BLEStreams

/// What a glucose meter detects (Glucose Service 1.0.1, 3.3). Bits that are reserved are preserved.
public struct GlucoseFeatures: OptionSet, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    /// A battery that is low during a measurement.
    public static let lowBattery = GlucoseFeatures(rawValue: 1 << 0)
    /// A sensor that doesn't work.
    public static let malfunction = GlucoseFeatures(rawValue: 1 << 1)
    /// A sample that is too small.
    public static let sampleSize = GlucoseFeatures(rawValue: 1 << 2)
    /// A strip that is inserted wrongly.
    public static let stripInsertion = GlucoseFeatures(rawValue: 1 << 3)
    /// A strip of the wrong type.
    public static let stripType = GlucoseFeatures(rawValue: 1 << 4)
    /// A result beyond the sensor's range.
    public static let resultRange = GlucoseFeatures(rawValue: 1 << 5)
    /// A temperature beyond the sensor's range.
    public static let temperatureRange = GlucoseFeatures(rawValue: 1 << 6)
    /// A strip that was pulled out too early.
    public static let interruption = GlucoseFeatures(rawValue: 1 << 7)
    /// Another fault of the device.
    public static let fault = GlucoseFeatures(rawValue: 1 << 8)
    /// A clock that may be wrong.
    public static let timeFault = GlucoseFeatures(rawValue: 1 << 9)
    /// It can be bonded with several devices.
    public static let severalBonds = GlucoseFeatures(rawValue: 1 << 10)

    /// The names of what is in it, as `low battery, strip type`; empty if nothing is.
    public var description: String {
        named([
            "low battery", "malfunction", "sample size", "strip insertion", "strip type", "result range",
            "temperature range", "interruption", "fault", "time fault", "several bonds",
        ])
    }
}

extension CharacteristicKey where Self == TypedCharacteristic<GlucoseFeatures> {
    /// Glucose Feature, 2A51: read.
    public static var glucoseFeatures: Self { .bits(.Characteristics.glucoseFeature) }
}
