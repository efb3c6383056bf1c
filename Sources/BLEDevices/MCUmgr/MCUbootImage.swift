import BLEProtocol

/// The header and trailer of an image for the boot loader MCUboot. Source: MCUboot documentation, "Design".
package struct MCUbootImage: Hashable, Sendable {
    /// `1.2.3` or `1.2.3+4`.
    package var version: String
    /// The hash by which the boot loader and the device identify the image; `nil` if the trailer has none.
    package var hash: [UInt8]?

    private static let magic: UInt32 = 0x96F3_B83D
    private static let trailerMagics: Set<UInt16> = [0x6907, 0x6908]
    /// The lengths of the hashes, by their types: SHA-256, SHA-384 and SHA-512. A boot loader is built for one of them.
    private static let hashLengths: [UInt16: Int] = [0x10: 32, 0x11: 48, 0x12: 64]

    /// Decodes the header and the trailer; `nil` if the octets are not a complete image of this kind.
    package init?(_ octets: [UInt8]) {
        var reader = ByteReader(octets)
        guard reader.uint32() == Self.magic, reader.uint32() != nil, let headerSize = reader.uint16(),
            let protectedSize = reader.uint16(), let imageSize = reader.uint32(), reader.uint32() != nil,
            let major = reader.uint8(), let minor = reader.uint8(), let revision = reader.uint16(),
            let build = reader.uint32()
        else { return nil }
        version = "\(major).\(minor).\(revision)" + (build == 0 ? "" : "+\(build)")
        // As 64 bits: a header may claim anything.
        let body = UInt64(headerSize) + UInt64(imageSize)
        guard headerSize >= 32, body <= UInt64(octets.count) else { return nil }
        hash = nil
        var position = Int(body)
        for size in [Int(protectedSize), nil] where size != 0 {
            guard let trailer = Self.trailer(octets[position...], size) else { continue }
            hash = hash ?? trailer.hash
            position += trailer.size
        }
    }

    private static func trailer(_ octets: ArraySlice<UInt8>, _ size: Int?) -> (size: Int, hash: [UInt8]?)? {
        var reader = ByteReader(octets)
        guard let magic = reader.uint16(), trailerMagics.contains(magic), let total = reader.uint16(),
            total >= 4, Int(total) <= octets.count, size == nil || size == Int(total)
        else { return nil }
        var entries = ByteReader(octets.prefix(Int(total)).dropFirst(4))
        while let type = entries.uint16(), let length = entries.uint16(), let value = entries.bytes(Int(length)) {
            if hashLengths[type] == Int(length) { return (Int(total), Array(value)) }
        }
        return (Int(total), nil)
    }
}
