/// The name of a format: the first eight octets of a file or a place in one, of which the last two are the digits of
/// the version.
struct FormatName {
    /// As a number, the lowest octet first.
    let number: UInt64

    /// Whether the octets have the same format in a newer version, of which only the name is known.
    ///
    /// - Parameter size: how many octets this version has, with the checksum in the last four.
    func isNewer(in octets: [UInt8], size: Int) -> Bool {
        guard octets.count >= 8 else { return false }
        let found = octets.withUnsafeBytes { $0.uint64(at: 0) }
        guard found & 0xFFFF_FFFF_FFFF == number & 0xFFFF_FFFF_FFFF, let version = Self.version(found),
            version > Self.version(number) ?? 0
        else { return false }
        // If the rest is right in this version, the disk has damaged the digits.
        guard octets.count >= size else { return true }
        var corrected = OctetWriter()
        corrected.add(number)
        let body = corrected.octets + octets[8..<(size - 4)]
        return CRC32C.checksum(body) != octets.withUnsafeBytes { $0.uint32(at: size - 4) }
    }

    private static func version(_ name: UInt64) -> Int? {
        let (tens, ones) = (Int(name >> 48 & 0xFF) - 0x30, Int(name >> 56) - 0x30)
        guard (0...9).contains(tens), (0...9).contains(ones) else { return nil }
        return tens * 10 + ones
    }
}
