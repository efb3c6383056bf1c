/// A Bluetooth device address: six octets and whether they are public or random.
///
/// Two addresses with the same octets and a different ``Kind`` are different devices: a connection to the wrong kind
/// never completes. Source: Core Specification, Vol 6, Part B, 1.3.
public struct BluetoothAddress: Hashable, Sendable {
    /// How the address was assigned, as the link layer carries it (one bit on air).
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Registered with the IEEE and fixed in the device, or an identity address of that kind.
        case `public`
        /// Chosen by the device; ``BluetoothAddress/subkind-swift.property`` says how.
        case random
    }

    /// What an address reveals about the device's identity.
    public enum Subkind: Hashable, Sendable {
        /// A public address: identifies the device permanently.
        case `public`
        /// Random; it stays the same at least until the device restarts.
        case randomStatic
        /// Changes every few minutes; a bonded peer resolves it with the Identity Resolving Key.
        case resolvablePrivate
        /// Changes every few minutes, and can't be resolved.
        case nonResolvablePrivate
        /// The two top bits have the value that the specification reserves.
        case reserved
    }

    /// The octets, most significant first, in the low 48 bits.
    public let rawValue: UInt64

    /// Public or random.
    public let kind: Kind

    /// Makes an address from a 48-bit number, most significant octet first; higher bits are cut off.
    public init(rawValue: UInt64, kind: Kind) {
        self.rawValue = rawValue & 0xFFFF_FFFF_FFFF
        self.kind = kind
    }

    /// Makes an address from six octets in wire order, least significant first; `nil` for any other number.
    public init?(littleEndian octets: some Collection<UInt8>, kind: Kind) {
        guard octets.count == 6 else { return nil }
        var value: UInt64 = 0
        var shift: UInt64 = 0
        for octet in octets {
            value |= UInt64(octet) << shift
            shift += 8
        }
        self.init(rawValue: value, kind: kind)
    }

    /// The six octets in wire order, least significant first.
    package var littleEndianOctets: [UInt8] {
        (0..<6).map { UInt8(truncatingIfNeeded: rawValue >> (8 * UInt64($0))) }
    }

    /// What the address reveals about the device's identity (Vol 6, Part B, 1.3.2).
    public var subkind: Subkind {
        guard kind == .random else { return .public }
        switch rawValue >> 46 {
        case 0b11: return .randomStatic
        case 0b01: return .resolvablePrivate
        case 0b00: return .nonResolvablePrivate
        default: return .reserved
        }
    }
}

// MARK: - Text

extension BluetoothAddress {
    /// Reads `C4:F2:17:1A:1D:BB/random` or `…/public`; upper or lower case; `nil` for anything else.
    ///
    /// Without the part after the slash the kind is unknown: see ``candidates(for:)``.
    public init?(_ text: String) {
        let candidates = Self.candidates(for: text)
        guard candidates.count == 1, let only = candidates.first, text.contains("/") else { return nil }
        self = only
    }

    /// The addresses that a text may mean: one if it ends in `/public` or `/random`, one or two otherwise, none if it
    /// is not an address.
    ///
    /// A bare `C4:F2:17:1A:1D:BB` may be random or public; both are returned, the likelier first.
    public static func candidates(for text: String) -> [BluetoothAddress] {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let digits = parts.first, let value = value(of: digits) else { return [] }
        if parts.count == 2 {
            guard let kind = Kind(rawValue: parts[1].lowercased()) else { return [] }
            return [BluetoothAddress(rawValue: value, kind: kind)]
        }
        let random = BluetoothAddress(rawValue: value, kind: .random)
        let `public` = BluetoothAddress(rawValue: value, kind: .public)
        switch random.subkind {
        case .randomStatic, .resolvablePrivate: return [random, `public`]
        case .nonResolvablePrivate, .public: return [`public`, random]
        case .reserved: return [`public`]
        }
    }

    private static func value(of digits: Substring) -> UInt64? {
        let octets = digits.split(separator: ":", omittingEmptySubsequences: false)
        guard octets.count == 6 else { return nil }
        var value: UInt64 = 0
        for octet in octets {
            guard octet.utf8.count == 2, octet.allSatisfy(\.isHexDigit), let number = UInt8(octet, radix: 16) else {
                return nil
            }
            value = value << 8 | UInt64(number)
        }
        return value
    }
}

extension BluetoothAddress: CustomStringConvertible {
    /// The octets as `C4:F2:17:1A:1D:BB`, without the kind.
    public var description: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(17)
        for octet in littleEndianOctets.reversed() {
            if !text.isEmpty { text.append(UInt8(ascii: ":")) }
            text.append(digits[Int(octet >> 4)])
            text.append(digits[Int(octet & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The octets and the kind, as ``init(_:)`` reads them: `C4:F2:17:1A:1D:BB/random`.
    public var descriptionWithKind: String { "\(description)/\(kind.rawValue)" }
}
