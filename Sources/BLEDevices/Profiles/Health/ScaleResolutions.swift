import BLEStreams

/// The smallest step of a scale's masses, by its number (GATT Specification Supplement, Weight Scale Feature).
public struct MassResolution: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number on air, of four bits; 0: not specified.
    public let rawValue: UInt8

    /// Makes a resolution from its number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    private static let steps = [
        1: (0.5, 1.0), 2: (0.2, 0.5), 3: (0.1, 0.2), 4: (0.05, 0.1), 5: (0.02, 0.05), 6: (0.01, 0.02), 7: (0.005, 0.01),
    ]

    /// The step in kilograms; `nil` if not specified, or reserved.
    public var kilograms: Double? { Self.steps[Int(rawValue)]?.0 }
    /// The step in pounds; `nil` if not specified, or reserved.
    public var pounds: Double? { Self.steps[Int(rawValue)]?.1 }

    /// In words, as `0.1 kg or 0.2 lb`.
    public var description: String { Self.steps[Int(rawValue)].map { "\($0.0) kg or \($0.1) lb" } ?? "not specified" }
}

/// The smallest step of a scale's heights, by its number (GATT Specification Supplement, Weight Scale Feature).
public struct HeightResolution: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number on air, of three bits; 0: not specified.
    public let rawValue: UInt8

    /// Makes a resolution from its number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    private static let steps = [1: (0.01, 1.0), 2: (0.005, 0.5), 3: (0.001, 0.1)]

    /// The step in metres; `nil` if not specified, or reserved.
    public var metres: Double? { Self.steps[Int(rawValue)]?.0 }
    /// The step in inches; `nil` if not specified, or reserved.
    public var inches: Double? { Self.steps[Int(rawValue)]?.1 }

    /// In words, as `0.01 m or 1.0 in`.
    public var description: String { Self.steps[Int(rawValue)].map { "\($0.0) m or \($0.1) in" } ?? "not specified" }
}

/// Four bits of one resolution and three of another, amid bits that each mean one thing.
struct Resolutions {
    let mass: MassResolution
    let height: HeightResolution
    /// The bits beside them.
    let others: UInt32

    init(_ bits: UInt32, at place: UInt32) {
        mass = MassResolution(rawValue: UInt8(bits >> place & 0xF))
        height = HeightResolution(rawValue: UInt8(bits >> (place + 4) & 0x7))
        others = bits & ~(0x7F << place)
    }

    static func bits(
        _ others: UInt32,
        _ mass: MassResolution,
        _ height: HeightResolution,
        at place: UInt32
    ) throws(MalformedValue) -> UInt32 {
        guard mass.rawValue < 16, height.rawValue < 8 else {
            throw MalformedValue("the resolutions, \(mass.rawValue) and \(height.rawValue), exceed four and three bits")
        }
        return others & ~(0x7F << place) | UInt32(mass.rawValue) << place | UInt32(height.rawValue) << (place + 4)
    }
}
