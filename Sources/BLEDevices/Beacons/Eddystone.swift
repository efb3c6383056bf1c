public import BLEProtocol

/// A beacon in Google's open format: an identifier, a URL, or telemetry.
///
/// A beacon with several of them advertises them in turn. Source: Eddystone Protocol Specification, 2018; encrypted
/// frames (EID, encrypted telemetry) are not decoded.
public enum Eddystone: Hashable, Sendable {
    /// An identifier: ten octets for all beacons of one owner, six for this one; and the power received at 0 m, in dBm,
    /// −100 to 20.
    case identifier(namespace: [UInt8], instance: [UInt8], power: Int8)
    /// A web address, and the power received at 0 m, in dBm, −100 to 20.
    case url(String, power: Int8)
    /// The state of the beacon.
    case telemetry(Telemetry)

    /// The state of a beacon.
    public struct Telemetry: Hashable, Sendable {
        /// The battery's voltage in mV; 0 if it has no battery.
        public var batteryMillivolts: UInt16
        /// Its temperature in °C, in steps of 1/256; `nil` if unknown.
        public var temperature: Double?
        /// How often it has advertised since it was switched on.
        public var advertisementCount: UInt32
        /// How long it has been on, in steps of 0.1 s.
        public var uptime: Duration

        /// Creates telemetry from its values.
        public init(
            batteryMillivolts: UInt16 = 0,
            temperature: Double? = nil,
            advertisementCount: UInt32,
            uptime: Duration
        ) {
            self.batteryMillivolts = batteryMillivolts
            self.temperature = temperature
            self.advertisementCount = advertisementCount
            self.uptime = uptime
        }
    }

    /// Decodes an advertisement; `nil` if it is not such a beacon, or encrypted.
    public init?(_ advertisement: AdvertisingData) {
        guard let frame = advertisement.serviceData(for: Self.service).map(Array.init), let kind = frame.first else {
            return nil
        }
        switch kind {
        // Two octets at the end are reserved; some beacons leave them out.
        case 0x00 where frame.count >= 18:
            self = .identifier(
                namespace: Array(frame[2..<12]),
                instance: Array(frame[12..<18]),
                power: Int8(bitPattern: frame[1])
            )
        case 0x10:
            guard frame.count >= 3, let url = EddystoneURL.text(frame[2...]) else { return nil }
            self = .url(url, power: Int8(bitPattern: frame[1]))
        case 0x20:
            guard let telemetry = Telemetry(frame) else { return nil }
            self = .telemetry(telemetry)
        default: return nil
        }
    }

    /// The fields to advertise, with the flags and the service that the format requires.
    ///
    /// - Throws: ``BLEError/Code/invalidArgument`` if the identifier doesn't have 10 and 6 octets, or if the URL
    ///   doesn't begin with `http://` or `https://`, contains a character that is not printable ASCII, or has more than
    ///   17 octets after the format's shortening.
    public var fields: [AdvertisingData.Field] {
        get throws {
            [
                .flags([.generalDiscoverable, .classicNotSupported]), .services([Self.service]),
                .serviceData(Self.service, try frame),
            ]
        }
    }

    private static let service = BluetoothUUID(0xFEAA)

    private var frame: [UInt8] {
        get throws {
            switch self {
            case .identifier(let namespace, let instance, let power):
                guard namespace.count == 10, instance.count == 6 else {
                    throw BLEError(
                        .invalidArgument,
                        operation: "advertise",
                        object: "Eddystone identifier",
                        cause: "the namespace has \(namespace.count) octets and the instance \(instance.count)",
                        remedy: "Use a namespace of 10 octets and an instance of 6."
                    )
                }
                return [0x00, UInt8(bitPattern: power)] + namespace + instance + [0, 0]
            case .url(let url, let power): return [0x10, UInt8(bitPattern: power)] + (try EddystoneURL.octets(url))
            case .telemetry(let telemetry): return telemetry.frame
            }
        }
    }
}

extension Eddystone.Telemetry {
    /// The number for an unknown temperature.
    private static let unknown: UInt16 = 0x8000

    fileprivate init?(_ frame: [UInt8]) {
        func number(_ range: Range<Int>) -> UInt32 { frame[range].reduce(0) { $0 << 8 | UInt32($1) } }
        // The second octet is the version: 0 is not encrypted.
        guard frame.count >= 14, frame[1] == 0 else { return nil }
        let temperature = UInt16(number(4..<6))
        self.init(
            batteryMillivolts: UInt16(number(2..<4)),
            temperature: temperature == Self.unknown ? nil : Double(Int16(bitPattern: temperature)) / 256,
            advertisementCount: number(6..<10),
            uptime: .milliseconds(100) * Int(number(10..<14))
        )
    }

    fileprivate var frame: [UInt8] {
        let steps = temperature.map { Int16(max(-32767, min(32767, ($0.isNaN ? 0 : $0 * 256).rounded()))) }
        // Rounded: the quotient of two durations may be slightly less than the integer it represents.
        let tenths = max(0, min(Double(UInt32.max), (uptime / .milliseconds(100)).rounded()))
        return [0x20, 0] + batteryMillivolts.bigEndianOctets
            + (steps.map(UInt16.init(bitPattern:)) ?? Self.unknown).bigEndianOctets + advertisementCount.bigEndianOctets
            + UInt32(tenths).bigEndianOctets
    }
}

/// The encoding of a shortened URL.
private enum EddystoneURL {
    private static let schemes = ["http://www.", "https://www.", "http://", "https://"]
    private static let endings = ["com", "org", "edu", "net", "info", "biz", "gov"]
    /// In the order of their octets; the longer ones, with a slash, come first.
    private static let expansions = endings.map { ".\($0)/" } + endings.map { ".\($0)" }
    private static let limit = 17

    static func text(_ octets: ArraySlice<UInt8>) -> String? {
        guard let first = octets.first, Int(first) < schemes.count else { return nil }
        var text = schemes[Int(first)]
        for octet in octets.dropFirst() {
            if Int(octet) < expansions.count {
                text += expansions[Int(octet)]
            } else if isPrintable(octet) {
                text.unicodeScalars.append(Unicode.Scalar(octet))
            } else {
                return nil
            }
        }
        return text
    }

    static func octets(_ url: String) throws -> [UInt8] {
        guard let scheme = schemes.firstIndex(where: url.hasPrefix) else {
            throw refusal(url, "it doesn't begin with http:// or https://", "Write the scheme: https://example.org.")
        }
        var rest = url.dropFirst(schemes[scheme].count)
        var octets = [UInt8(scheme)]
        while let character = rest.first {
            if let expansion = expansions.firstIndex(where: rest.hasPrefix) {
                octets.append(UInt8(expansion))
                rest = rest.dropFirst(expansions[expansion].count)
            } else {
                guard let octet = character.asciiValue, isPrintable(octet) else {
                    throw refusal(
                        url,
                        "it contains a character that is not printable ASCII",
                        "Percent-encode that character."
                    )
                }
                octets.append(octet)
                rest = rest.dropFirst()
            }
        }
        guard octets.count <= limit + 1 else {
            throw refusal(
                url,
                "it has \(octets.count - 1) octets after shortening, but only \(limit) fit",
                "Use an address that is shorter by \(octets.count - 1 - limit) octets."
            )
        }
        return octets
    }

    /// The octets up to 0x20 and from 0x7F are reserved.
    private static func isPrintable(_ octet: UInt8) -> Bool { (0x21...0x7E).contains(octet) }

    private static func refusal(_ url: String, _ cause: String, _ remedy: String) -> BLEError {
        BLEError(.invalidArgument, operation: "advertise", object: "URL \(url)", cause: cause, remedy: remedy)
    }
}
