import FoundationEssentials

/// The JSON content of a file, with a checksum that reveals changed octets.
protocol ChecksummedFile: Codable {
    /// The checksum of the file as it is written without one.
    var checksum: UInt32? { get set }
}

extension ChecksummedFile {
    /// The file's octets, with the checksum; `nil` if it has a value that JSON can't represent.
    var octets: Data? {
        var file = self
        guard let checksum = computedChecksum else { return nil }
        file.checksum = checksum
        return file.encoded
    }

    /// The checksum that it should have.
    var computedChecksum: UInt32? {
        var file = self
        file.checksum = nil
        return file.encoded.map { $0.crc32 }
    }

    private var encoded: Data? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return try? encoder.encode(self)
    }
}
