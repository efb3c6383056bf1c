import BLEProtocol
import FoundationEssentials

/// A peer's file on disk: a ``PeerRecord``, and the fields that show whether it is unchanged.
struct PeerFile: ChecksummedFile {
    /// The version that this library writes. It also reads version 1, which had no checksum.
    static let currentVersion = 2

    var version: Int
    /// The peer of this file: `C4:F2:17:1A:1D:BB/random`.
    var peer: String
    var record: PeerRecord
    /// The CRC-32 of the file without this field, as this library writes it. A key with one flipped bit still looks
    /// like a key: the peripheral would seem to have lost its own.
    var checksum: UInt32?

    /// The fault of a file.
    enum Fault: Error {
        case damaged
        /// A later version of this library has written it.
        case unknownVersion(Int)
    }

    /// What a file of any version has.
    private struct Version: Decodable { var version: Int }

    /// Makes the file of a peer's record.
    init(_ record: PeerRecord, of peer: BluetoothAddress) {
        version = Self.currentVersion
        self.peer = peer.descriptionWithKind
        self.record = record
    }

    /// Reads the file of a peer.
    init(_ octets: Data, of peer: BluetoothAddress) throws(Fault) {
        let decoder = JSONDecoder()
        guard let version = try? decoder.decode(Version.self, from: octets).version else { throw .damaged }
        let decoded = try? decoder.decode(Self.self, from: octets)
        guard version == 1 || version == Self.currentVersion else {
            // One flipped bit makes another version of this one.
            var file = decoded
            file?.version = Self.currentVersion
            let isThisVersion = file.map { $0.checksum == $0.computedChecksum } ?? false
            throw isThisVersion ? .damaged : .unknownVersion(version)
        }
        guard let file = decoded else { throw .damaged }
        switch version {
        case 1: guard file.checksum == nil else { throw .damaged }
        default:
            guard let checksum = file.checksum, checksum == file.computedChecksum else { throw .damaged }
            // The file was copied from another peer.
            guard file.peer == peer.descriptionWithKind else { throw .damaged }
        }
        self = file
    }
}

extension Data {
    /// The checksum of Ethernet. Source: IEEE 802.3, 3.2.9.
    var crc32: UInt32 {
        var sum = UInt32.max
        for octet in self {
            sum ^= UInt32(octet)
            for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 0 ? 0 : 0xEDB8_8320) }
        }
        return ~sum
    }
}
