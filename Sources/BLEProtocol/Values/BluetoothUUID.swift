/// A UUID of 16, 32 or 128 bits; equal across widths through the Bluetooth base UUID.
///
/// `BluetoothUUID(0x180D)` and `0000180D-0000-1000-8000-00805F9B34FB` are the same value.
/// Source: Core Specification, Vol 3, Part B, 2.5.1.
public struct BluetoothUUID: Hashable, Sendable {
    /// The first eight octets of the 128-bit form, most significant first.
    package let high: UInt64

    /// The last eight octets of the 128-bit form, most significant first.
    package let low: UInt64

    private static let baseHigh: UInt64 = 0x0000_0000_0000_1000
    private static let baseLow: UInt64 = 0x8000_0080_5F9B_34FB

    /// Makes a UUID from its 128 bits, as two halves.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Makes a UUID that the Bluetooth SIG assigned as 16 bits.
    public init(_ short: UInt16) {
        self.init(high: UInt64(short) << 32 | Self.baseHigh, low: Self.baseLow)
    }

    /// Makes a UUID that the Bluetooth SIG assigned as 32 bits.
    package init(bits32 value: UInt32) {
        self.init(high: UInt64(value) << 32 | Self.baseHigh, low: Self.baseLow)
    }

    /// Makes a UUID from 2, 4 or 16 octets in wire order, least significant first; `nil` for any other number.
    public init?(littleEndian octets: some BidirectionalCollection<UInt8>) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        switch octets.count {
        case 2, 4:
            for octet in octets.reversed() { high = high << 8 | UInt64(octet) }
            self.init(bits32: UInt32(truncatingIfNeeded: high))
        case 16:
            for octet in octets.reversed() {
                high = high << 8 | low >> 56
                low = low << 8 | UInt64(octet)
            }
            self.init(high: high, low: low)
        default:
            return nil
        }
    }

    /// The 16-bit form, if the UUID has one.
    public var short: UInt16? { bits32.flatMap { UInt16(exactly: $0) } }

    /// The 32-bit form, if the UUID has one.
    package var bits32: UInt32? {
        low == Self.baseLow && high & 0xFFFF_FFFF == Self.baseHigh ? UInt32(truncatingIfNeeded: high >> 32) : nil
    }

    /// The octets as the Attribute Protocol sends them: 2 if a 16-bit form exists, otherwise 16; least significant
    /// first.
    ///
    /// ATT knows no 32-bit UUIDs (Vol 3, Part F, 3.2.1).
    package var attOctets: [UInt8] {
        if let short { return [UInt8(truncatingIfNeeded: short), UInt8(truncatingIfNeeded: short >> 8)] }
        return littleEndianOctets128
    }

    /// The octets as advertisements carry them: 2, 4 or 16, as few as the UUID has; least significant first.
    package var shortestOctets: [UInt8] {
        if short == nil, let bits32 { return (0..<4).map { UInt8(truncatingIfNeeded: bits32 >> (8 * $0)) } }
        return attOctets
    }

    /// All 16 octets, least significant first.
    package var littleEndianOctets128: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: low >> (8 * UInt64($0))) }
            + (0..<8).map { UInt8(truncatingIfNeeded: high >> (8 * UInt64($0))) }
    }
}

// MARK: - Text

extension BluetoothUUID {
    /// Reads 4 or 8 hex digits, with or without `0x`, or the 36-character form; `nil` for anything else.
    ///
    /// With a literal as its argument, Swift calls ``init(stringLiteral:)`` instead: the result is not optional, and a
    /// literal that is no UUID stops the program.
    public init?(_ text: String) {
        var digits = Substring(text)
        if digits.hasPrefix("0x") || digits.hasPrefix("0X") { digits = digits.dropFirst(2) }
        switch digits.utf8.count {
        case 4, 8:
            guard digits.allSatisfy(\.isHexDigit), let value = UInt32(digits, radix: 16) else { return nil }
            self.init(bits32: value)
        case 36 where digits.count == text.count:
            let groups = digits.split(separator: "-", omittingEmptySubsequences: false)
            guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12], groups.allSatisfy({ $0.allSatisfy(\.isHexDigit) }),
                let high = UInt64(groups[0...2].joined(), radix: 16),
                let low = UInt64(groups[3...4].joined(), radix: 16)
            else { return nil }
            self.init(high: high, low: low)
        default:
            return nil
        }
    }
}

extension BluetoothUUID: ExpressibleByStringLiteral {
    /// Makes a UUID from a literal: `let heater: BluetoothUUID = "7A1C0070-5F2B-4C8E-9D3A-6B70E14F2C55"`.
    ///
    /// - Precondition: the literal is 4 or 8 hex digits, with or without `0x`, or the 36-character form; anything else
    ///   stops the program where the literal is used first. For text from outside of the source there is `init(_:)`,
    ///   which returns `nil`.
    public init(stringLiteral text: StaticString) {
        guard let uuid = Self(String(describing: text)) else {
            fatalError("\"\(text)\" is not a UUID: write 4 or 8 hex digits, or the 36-character form")
        }
        self = uuid
    }
}

extension BluetoothUUID: CustomStringConvertible {
    /// The shortest form: `180D`, `12345678`, or the 36-character form in upper case.
    public var description: String {
        if let short { return Self.hex(UInt64(short), digits: 4) }
        if let bits32 { return Self.hex(UInt64(bits32), digits: 8) }
        let high = Array(Self.hex(high, digits: 16))
        let low = Array(Self.hex(low, digits: 16))
        return [high[0..<8], high[8..<12], high[12..<16], low[0..<4], low[4..<16]].map { String($0) }
            .joined(separator: "-")
    }

    private static func hex(_ value: UInt64, digits: Int) -> String {
        let text = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
