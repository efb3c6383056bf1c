/// The kind of packets in a btsnoop file.
///
/// Source: BlueZ, doc/btsnoop-protocol.rst.
package struct BTSnoopDatalink: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// HCI packets of one adapter; the flags state their type.
    package static let hci = BTSnoopDatalink(rawValue: 1001)
    /// HCI packets of one adapter, each preceded by its type octet.
    package static let hciUART = BTSnoopDatalink(rawValue: 1002)
    /// The records of Linux's monitor channel, for all adapters.
    package static let linuxMonitor = BTSnoopDatalink(rawValue: 2001)
}

/// The sixteen octets at the beginning of a btsnoop file, which btmon and Wireshark read.
package struct BTSnoopHeader: Hashable, Sendable {
    package let datalink: BTSnoopDatalink

    private static let magic = Array("btsnoop\0".utf8)
    private static let version: UInt32 = 1

    package init(datalink: BTSnoopDatalink) { self.datalink = datalink }

    /// The header, most significant octets first.
    package var encoded: [UInt8] {
        Self.magic + Self.version.bigEndianOctets + datalink.rawValue.bigEndianOctets
    }

    /// Reads a header; `nil` if it is not one, or has another version.
    package init?(decoding reader: inout ByteReader) {
        guard let magic = reader.bytes(8), magic.elementsEqual(Self.magic),
            reader.bigEndian(4) == UInt64(Self.version), let datalink = reader.bigEndian(4)
        else { return nil }
        self.init(datalink: BTSnoopDatalink(rawValue: UInt32(truncatingIfNeeded: datalink)))
    }
}

extension ByteReader {
    /// A number of up to eight octets, most significant first.
    mutating func bigEndian(_ count: Int) -> UInt64? {
        bytes(count).map { $0.reduce(0) { $0 << 8 | UInt64($1) } }
    }
}
