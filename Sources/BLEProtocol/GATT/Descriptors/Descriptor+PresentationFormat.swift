extension Descriptor {
    /// How to display a characteristic's value: the value of the Characteristic Presentation Format descriptor (2904).
    ///
    /// Source: Core Specification, Vol 3, Part G, 3.3.3.5; numbers from the Bluetooth SIG, Assigned Numbers, 2.4.
    public struct PresentationFormat: Hashable, Sendable {
        /// The format of the value.
        public var format: Format

        /// A number x means x · 10^`exponent`.
        public var exponent: Int8

        /// The unit of the number, 2700 to 27FF; 2700 is "without a unit".
        public var unit: BluetoothUUID

        /// The organisation that assigned `description`; 1: the Bluetooth SIG.
        public var nameSpace: UInt8

        /// Distinguishes this value from others of the same kind, an assigned number: 0x0106 is "main"; 0: unknown.
        public var description: UInt16

        /// Makes a format from its fields.
        public init(
            format: Format,
            exponent: Int8 = 0,
            unit: BluetoothUUID = BluetoothUUID(0x2700),
            nameSpace: UInt8 = 1,
            description: UInt16 = 0
        ) {
            self.format = format
            self.exponent = exponent
            self.unit = unit
            self.nameSpace = nameSpace
            self.description = description
        }

        /// Decodes the descriptor's seven octets; `nil` if there are more or fewer.
        public init?(octets: some Collection<UInt8>) {
            var reader = ByteReader(Array(octets))
            guard octets.count == 7, let format = reader.uint8(), let exponent = reader.uint8(),
                let unit = reader.uint16(),
                let nameSpace = reader.uint8(), let description = reader.uint16()
            else { return nil }
            self.init(
                format: Format(rawValue: format),
                exponent: Int8(bitPattern: exponent),
                unit: BluetoothUUID(unit),
                nameSpace: nameSpace,
                description: description
            )
        }

        /// The descriptor's seven octets; a unit without a 16-bit UUID is written as "without a unit".
        public var octets: [UInt8] {
            var writer = ByteWriter(capacity: 7)
            writer.uint8(format.rawValue)
            writer.uint8(UInt8(bitPattern: exponent))
            writer.uint16(unit.short ?? 0x2700)
            writer.uint8(nameSpace)
            writer.uint16(description)
            return writer.bytes
        }
    }
}

extension Descriptor.PresentationFormat {
    /// The format of a value; unknown numbers are kept.
    public struct Format: RawRepresentable, Hashable, Sendable {
        /// The octet in the descriptor.
        public let rawValue: UInt8

        /// Makes a format from its octet; every octet is allowed.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// 0 or 1.
        public static let boolean = Format(rawValue: 0x01)
        /// An unsigned integer of 8 bits.
        public static let uint8 = Format(rawValue: 0x04)
        /// An unsigned integer of 16 bits.
        public static let uint16 = Format(rawValue: 0x06)
        /// An unsigned integer of 32 bits.
        public static let uint32 = Format(rawValue: 0x08)
        /// A signed integer of 8 bits.
        public static let sint8 = Format(rawValue: 0x0C)
        /// A signed integer of 16 bits.
        public static let sint16 = Format(rawValue: 0x0E)
        /// A signed integer of 32 bits.
        public static let sint32 = Format(rawValue: 0x10)
        /// A floating-point number of 32 bits (IEEE 754).
        public static let float32 = Format(rawValue: 0x14)
        /// A floating-point number of 64 bits (IEEE 754).
        public static let float64 = Format(rawValue: 0x15)
        /// Text in UTF-8.
        public static let utf8 = Format(rawValue: 0x19)
    }

    /// The number in a characteristic's value, with the exponent applied; `nil` if the format is not a number, or the
    /// value doesn't have the length that the format requires.
    public func number(in value: some Collection<UInt8>) -> Double? {
        guard let number = format.number(in: Array(value)) else { return nil }
        let power = (0..<exponent.magnitude).reduce(1.0) { power, _ in power * 10 }
        return exponent < 0 ? number / power : number * power
    }
}

extension Descriptor.PresentationFormat.Format: CustomStringConvertible {
    /// The format's name in the Assigned Numbers: `uint16`; for others the number.
    public var description: String {
        Self.names[rawValue] ?? "format 0x" + CollectionOfOne(rawValue).hexDigits
    }

    private static let names: [UInt8: String] = [
        0x01: "boolean", 0x02: "uint2", 0x03: "uint4", 0x04: "uint8", 0x05: "uint12", 0x06: "uint16", 0x07: "uint24",
        0x08: "uint32", 0x09: "uint48", 0x0A: "uint64", 0x0B: "uint128", 0x0C: "sint8", 0x0D: "sint12", 0x0E: "sint16",
        0x0F: "sint24", 0x10: "sint32", 0x11: "sint48", 0x12: "sint64", 0x13: "sint128", 0x14: "float32",
        0x15: "float64", 0x16: "medfloat16", 0x17: "medfloat32", 0x18: "uint16[2]", 0x19: "utf8s", 0x1A: "utf16s",
        0x1B: "struct", 0x1C: "medASN1",
    ]

    /// The width of a whole number in bits, and whether it has a sign.
    private var integer: (bits: Int, isSigned: Bool)? {
        let unsigned = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64]
        let signed = [8, 12, 16, 24, 32, 48, 64]
        switch rawValue {
        case 0x01...0x0A: return (unsigned[Int(rawValue) - 1], false)
        case 0x0C...0x12: return (signed[Int(rawValue) - 0x0C], true)
        default: return nil
        }
    }

    fileprivate func number(in octets: [UInt8]) -> Double? {
        let bits = octets.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        if let (width, isSigned) = integer {
            guard octets.count == (width + 7) / 8 else { return nil }
            // The bits above the number are unused.
            let unused = UInt64(64 - width)
            let shifted = bits << unused
            return isSigned ? Double(Int64(bitPattern: shifted) >> Int64(unused)) : Double(shifted >> unused)
        }
        switch (self, octets.count) {
        case (.float32, 4): return Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
        case (.float64, 8): return Double(bitPattern: bits)
        default: return nil
        }
    }
}
