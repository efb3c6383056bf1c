extension Characteristic {
    /// What a characteristic can do: the first octet of its declaration.
    ///
    /// Source: Core Specification, Vol 3, Part G, 3.3.1.1.
    public struct Properties: OptionSet, Hashable, Sendable {
        /// The octet of the declaration.
        public let rawValue: UInt8

        /// Makes properties from the octet of a declaration; every octet is allowed.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The value may be broadcast in advertisements.
        public static let broadcast = Characteristic.Properties(rawValue: 0x01)
        /// The value can be read.
        public static let read = Characteristic.Properties(rawValue: 0x02)
        /// The value can be written without an answer.
        public static let writeWithoutResponse = Characteristic.Properties(rawValue: 0x04)
        /// The value can be written, and the write is answered.
        public static let write = Characteristic.Properties(rawValue: 0x08)
        /// The server can send the value as a notification, without a confirmation.
        public static let notify = Characteristic.Properties(rawValue: 0x10)
        /// The server can send the value as an indication, which the client confirms.
        public static let indicate = Characteristic.Properties(rawValue: 0x20)
        /// The value can be written without an answer, signed with a key that was exchanged during bonding.
        public static let authenticatedSignedWrites = Characteristic.Properties(rawValue: 0x40)
        /// More properties are in the Characteristic Extended Properties descriptor.
        public static let extendedProperties = Characteristic.Properties(rawValue: 0x80)
    }
}

extension Characteristic.Properties: CustomStringConvertible {
    /// The properties in words, separated by commas: `read, write without response`; `none` if there are none.
    public var description: String {
        let named = Self.names.filter { contains($0.property) }.map(\.name)
        return named.isEmpty ? "none" : named.joined(separator: ", ")
    }

    private static let names: [(property: Characteristic.Properties, name: String)] = [
        (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write without response"),
        (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
        (.authenticatedSignedWrites, "authenticated signed writes"), (.extendedProperties, "extended properties"),
    ]
}

extension Characteristic {
    /// What a characteristic can do beyond its properties: the value of the Characteristic Extended Properties
    /// descriptor.
    ///
    /// Source: Core Specification, Vol 3, Part G, 3.3.3.1.
    public struct ExtendedProperties: OptionSet, Hashable, Sendable {
        /// The descriptor's value.
        public let rawValue: UInt16

        /// Makes extended properties from the descriptor's value; every value is allowed.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The value can be written as part of a reliable write of several values.
        public static let reliableWrite = Characteristic.ExtendedProperties(rawValue: 0x0001)
        /// The Characteristic User Description can be written.
        public static let writableAuxiliaries = Characteristic.ExtendedProperties(rawValue: 0x0002)
    }
}
