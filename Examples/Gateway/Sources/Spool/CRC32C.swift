/// The checksum CRC-32C (Castagnoli), as iSCSI uses it. Source: RFC 3720, appendix B.4.
enum CRC32C {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? (value >> 1) ^ 0x82F6_3B78 : value >> 1 }
    }

    /// The checksum of some octets.
    static func checksum(_ octets: UnsafeRawBufferPointer) -> UInt32 {
        table.withUnsafeBufferPointer { table in
            var value = UInt32.max
            for octet in octets { value = (value >> 8) ^ table[Int((value ^ UInt32(octet)) & 0xFF)] }
            return ~value
        }
    }

    /// The checksum of some octets.
    static func checksum(_ octets: [UInt8]) -> UInt32 { octets.withUnsafeBytes { checksum($0) } }
}
