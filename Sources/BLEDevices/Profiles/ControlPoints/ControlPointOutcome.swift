/// How a command to a control point has ended, by the device's answer; unknown numbers are preserved.
///
/// The codes are the same in the Cycling Power Service 1.1, 3.7, the Cycling Speed and Cadence Service 1.0, 3.4, the
/// Location and Navigation Service 1.0, 3.6, and the Fitness Machine Service 1.0, 4.16.
public struct ControlPointOutcome: RawRepresentable, Hashable, Sendable {
    /// The number on air.
    public let rawValue: UInt8

    /// Makes an outcome from its number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// It succeeded.
    public static let success = ControlPointOutcome(rawValue: 1)
    /// The device doesn't support the command.
    public static let notSupported = ControlPointOutcome(rawValue: 2)
    /// Its parameter is out of range.
    public static let invalidParameter = ControlPointOutcome(rawValue: 3)
    /// It failed.
    public static let failed = ControlPointOutcome(rawValue: 4)
    /// Control was not requested, or another device has it: an answer of fitness machines.
    public static let notPermitted = ControlPointOutcome(rawValue: 5)
}

extension ControlPointOutcome: CustomStringConvertible {
    /// In words, as `invalid parameter`; the number if it has no meaning.
    public var description: String {
        let words = ["success", "not supported", "invalid parameter", "failed", "not permitted"]
        let place = Int(rawValue) - 1
        return words.indices.contains(place) ? words[place] : "\(rawValue)"
    }
}
