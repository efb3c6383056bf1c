import FoundationEssentials

/// What a file holds as JSON, with a checksum by which octets that have changed since are noticed.
protocol ChecksummedFile: Codable {
    /// Of the file as it is written without one.
    var checksum: UInt32? { get set }
}

extension ChecksummedFile {
    /// The file's octets, with the checksum; `nil` where it has something that JSON has no form for.
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
