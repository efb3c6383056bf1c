/// Reads the fields of a management packet; if octets are missing, the error names the packet and the field.
///
/// Octets after the last known field are ignored: a newer kernel may append fields.
package struct ManagementReader {
    private var reader: ByteReader
    private let subject: ManagementDecodingError.Subject

    package init(_ bytes: ArraySlice<UInt8>, subject: ManagementDecodingError.Subject) {
        reader = ByteReader(bytes)
        self.subject = subject
    }

    package var isAtEnd: Bool { reader.isAtEnd }

    package mutating func uint8(_ field: StaticString) throws(ManagementDecodingError) -> UInt8 {
        guard let value = reader.uint8() else { throw short(field) }
        return value
    }

    package mutating func int8(_ field: StaticString) throws(ManagementDecodingError) -> Int8 {
        Int8(bitPattern: try uint8(field))
    }

    package mutating func uint16(_ field: StaticString) throws(ManagementDecodingError) -> UInt16 {
        guard let value = reader.uint16() else { throw short(field) }
        return value
    }

    package mutating func uint32(_ field: StaticString) throws(ManagementDecodingError) -> UInt32 {
        guard let value = reader.uint32() else { throw short(field) }
        return value
    }

    package mutating func bytes(
        _ count: Int,
        _ field: StaticString
    ) throws(ManagementDecodingError) -> ArraySlice<UInt8> {
        guard let value = reader.bytes(count) else { throw short(field) }
        return value
    }

    /// A signal strength or power in dBm; 127 means "not known".
    package mutating func decibels(_ field: StaticString) throws(ManagementDecodingError) -> Int8? {
        let value = try int8(field)
        return value == 127 ? nil : value
    }

    /// Six octets, least significant first.
    package mutating func deviceAddress(_ field: StaticString) throws(ManagementDecodingError) -> UInt64 {
        let low = try uint32(field)
        let high = try uint16(field)
        return UInt64(high) << 32 | UInt64(low)
    }

    /// An address and its type, seven octets.
    package mutating func address() throws(ManagementDecodingError) -> ManagementAddress {
        let value = try deviceAddress("address")
        return ManagementAddress(rawValue: value, kind: .init(rawValue: try uint8("address type")))
    }

    /// A key of sixteen octets.
    package mutating func key(_ field: StaticString) throws(ManagementDecodingError) -> SecretKey {
        guard let key = SecretKey(octets: try bytes(16, field)) else { throw short(field) }
        return key
    }

    /// Advertising data after its 16-bit length: the one allocation of a decoded report.
    package mutating func advertisingData(_ field: StaticString) throws(ManagementDecodingError) -> AdvertisingData {
        let length = try uint16(field)
        return AdvertisingData(bytes: Array(try bytes(Int(length), field)))
    }

    /// Text in a field of fixed length, up to its first NUL; invalid UTF-8 is repaired.
    package mutating func text(_ count: Int, _ field: StaticString) throws(ManagementDecodingError) -> String {
        String(decoding: try bytes(count, field).prefix { $0 != 0 }, as: UTF8.self)
    }

    private func short(_ field: StaticString) -> ManagementDecodingError {
        ManagementDecodingError(subject, field: field.description)
    }
}
