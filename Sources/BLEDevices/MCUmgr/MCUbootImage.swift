import BLEProtocol

/// The header and trailer of an image for the boot loader MCUboot. Source: MCUboot documentation, "Design".
package struct MCUbootImage: Hashable, Sendable {
    /// `1.2.3` or `1.2.3+4`.
    package var version: String
    /// The hash by which the boot loader and the device identify the image; `nil` if the trailer has none.
    package var hash: [UInt8]?
    /// The hash by which the device identifies the image once it runs: another one if the boot loader decompresses it.
    package var installedHash: [UInt8]?

    private static let magic: UInt32 = 0x96F3_B83D
    private static let trailerMagics: Set<UInt16> = [0x6907, 0x6908]
    /// The lengths of the hashes, by their types: SHA-256, SHA-384 and SHA-512. A boot loader is built for one of them.
    private static let hashLengths: [UInt16: Int] = [0x10: 32, 0x11: 48, 0x12: 64]
    /// The flags of a compressed image: LZMA1, LZMA2.
    private static let compressionFlags: UInt32 = 0x600
    /// The hash of the decompressed image, which then takes the place of the other one. Source: MCUboot of the nRF
    /// Connect SDK, `decompression.c`.
    private static let decompressedHash: UInt16 = 0x71

    /// Decodes the header and the trailer; `nil` if the octets are not a complete image of this kind.
    package init?(_ octets: [UInt8]) {
        var reader = ByteReader(octets)
        guard reader.uint32() == Self.magic, reader.uint32() != nil, let headerSize = reader.uint16(),
            let protectedSize = reader.uint16(), let imageSize = reader.uint32(), let flags = reader.uint32(),
            let major = reader.uint8(), let minor = reader.uint8(), let revision = reader.uint16(),
            let build = reader.uint32()
        else { return nil }
        version = "\(major).\(minor).\(revision)" + (build == 0 ? "" : "+\(build)")
        // As 64 bits: a header may claim anything.
        let body = UInt64(headerSize) + UInt64(imageSize)
        guard headerSize >= 32, body <= UInt64(octets.count) else { return nil }
        (hash, installedHash) = (nil, nil)
        var position = Int(body)
        for size in [Int(protectedSize), nil] where size != 0 {
            guard let trailer = Self.trailer(octets[position...], size) else { continue }
            hash = hash ?? trailer.hash
            if flags & Self.compressionFlags != 0 { installedHash = installedHash ?? trailer.decompressedHash }
            position += trailer.size
        }
        installedHash = installedHash ?? hash
    }

    private static func trailer(
        _ octets: ArraySlice<UInt8>,
        _ size: Int?
    ) -> (size: Int, hash: [UInt8]?, decompressedHash: [UInt8]?)? {
        var reader = ByteReader(octets)
        guard let magic = reader.uint16(), trailerMagics.contains(magic), let total = reader.uint16(),
            total >= 4, Int(total) <= octets.count, size == nil || size == Int(total)
        else { return nil }
        var entries = ByteReader(octets.prefix(Int(total)).dropFirst(4))
        var (hash, decompressedHash): ([UInt8]?, [UInt8]?) = (nil, nil)
        while let type = entries.uint16(), let length = entries.uint16(), let value = entries.bytes(Int(length)) {
            if hashLengths[type] == Int(length) { hash = hash ?? Array(value) }
            if type == Self.decompressedHash { decompressedHash = decompressedHash ?? Array(value) }
        }
        return (Int(total), hash, decompressedHash)
    }
}
