extension Descriptor {
    /// The value of a descriptor, decoded if its type is one of the Generic Attribute Profile's.
    ///
    /// Source: Core Specification, Vol 3, Part G, 3.3.3.
    public enum Value: Hashable, Sendable {
        /// Characteristic Extended Properties (2900).
        case extendedProperties(Characteristic.ExtendedProperties)
        /// Characteristic User Description (2901): what the characteristic is, for a person to read.
        case userDescription(String)
        /// Client Characteristic Configuration (2902): what the server sends to this client.
        case clientConfiguration(Characteristic.Configuration)
        /// Server Characteristic Configuration (2903): whether the value is broadcast.
        case serverConfiguration(Characteristic.Configuration)
        /// Characteristic Presentation Format (2904): how to display the value.
        case presentationFormat(Descriptor.PresentationFormat)
        /// Characteristic Aggregate Format (2905): the handles of the presentation formats of which the value consists.
        case aggregateFormat([UInt16])
        /// Another descriptor, or one of these with octets in an invalid format.
        case octets([UInt8])

        /// Decodes the octets of a descriptor of the given type; a value that doesn't fit the type stays as octets.
        public init(_ uuid: BluetoothUUID, octets: some Collection<UInt8>) {
            let octets = Array(octets)
            self = Self.decoded(uuid, octets) ?? .octets(octets)
        }

        private static func decoded(_ uuid: BluetoothUUID, _ octets: [UInt8]) -> Descriptor.Value? {
            switch uuid {
            case .characteristicExtendedProperties:
                return number(octets).map { .extendedProperties(Characteristic.ExtendedProperties(rawValue: $0)) }
            case .characteristicUserDescription:
                return String(validating: octets, as: UTF8.self).map { .userDescription($0) }
            case .clientCharacteristicConfiguration:
                return number(octets).map { .clientConfiguration(Characteristic.Configuration(rawValue: $0)) }
            case .serverCharacteristicConfiguration:
                return number(octets).map { .serverConfiguration(Characteristic.Configuration(rawValue: $0)) }
            case .characteristicPresentationFormat:
                return Descriptor.PresentationFormat(octets: octets).map { .presentationFormat($0) }
            case .characteristicAggregateFormat:
                guard !octets.isEmpty, octets.count.isMultiple(of: 2) else { return nil }
                var reader = ByteReader(octets)
                var handles: [UInt16] = []
                while let handle = reader.uint16() { handles.append(handle) }
                return .aggregateFormat(handles)
            default: return nil
            }
        }

        /// A field of 16 bits; some devices send one octet only.
        private static func number(_ octets: [UInt8]) -> UInt16? {
            switch octets.count {
            case 1: UInt16(octets[0])
            case 2: UInt16(octets[0]) | UInt16(octets[1]) << 8
            default: nil
            }
        }
    }
}

extension Characteristic {
    /// The bits of a Client or Server Characteristic Configuration descriptor.
    ///
    /// Source: Core Specification, Vol 3, Part G, 3.3.3.3 and 3.3.3.4.
    public struct Configuration: OptionSet, Hashable, Sendable {
        /// The descriptor's value.
        public let rawValue: UInt16

        /// Makes a configuration from the descriptor's value; every value is allowed.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The value is notified; in a server's configuration: it is broadcast.
        public static let notify = Characteristic.Configuration(rawValue: 0x0001)
        /// The value is indicated.
        public static let indicate = Characteristic.Configuration(rawValue: 0x0002)
        /// The value is broadcast: the one bit of a server's configuration.
        public static let broadcast = Characteristic.Configuration(rawValue: 0x0001)
    }
}

extension Descriptor.Value: CustomStringConvertible {
    /// The meaning in words: `reliable write`, `"A short value"`, `sint16 × 10^-2, unit 272F`.
    public var description: String {
        switch self {
        case .extendedProperties(let properties): "\(properties)"
        case .userDescription(let text): "\"\(text)\""
        case .clientConfiguration(let configuration): Self.text(configuration)
        case .serverConfiguration(let configuration): configuration.contains(.broadcast) ? "broadcast" : "off"
        case .presentationFormat(let format): Self.text(format)
        case .aggregateFormat(let handles): "formats at " + handles.map(Self.text).joined(separator: ", ")
        case .octets(let octets): octets.count == 1 ? "1 octet" : "\(octets.count) octets"
        }
    }

    private static func text(_ configuration: Characteristic.Configuration) -> String {
        switch (configuration.contains(.notify), configuration.contains(.indicate)) {
        case (true, true): "notifications and indications"
        case (true, false): "notifications"
        case (false, true): "indications"
        case (false, false): "off"
        }
    }

    private static func text(_ format: Descriptor.PresentationFormat) -> String {
        var text = "\(format.format)"
        if format.exponent != 0 { text += " × 10^\(format.exponent)" }
        if format.unit != BluetoothUUID(0x2700) { text += ", unit \(format.unit)" }
        return text
    }

    private static func text(_ handle: UInt16) -> String {
        "0x" + [UInt8(handle >> 8), UInt8(truncatingIfNeeded: handle)].hexDigits
    }
}

extension Characteristic.ExtendedProperties: CustomStringConvertible {
    /// The properties in words, separated by commas: `reliable write`; `none` if there are none.
    public var description: String {
        let names = [
            contains(.reliableWrite) ? "reliable write" : nil,
            contains(.writableAuxiliaries) ? "writable auxiliaries" : nil,
        ].compactMap { $0 }
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }
}
