/// One packet of a btsnoop file, with its time.
package struct BTSnoopRecord: Hashable, Sendable {
    /// The meaning of the flags depends on the file's ``BTSnoopDatalink``.
    package var flags: UInt32

    /// The number of packets lost since the first one of the file.
    package var drops: UInt32

    /// The time since 1970-01-01 00:00:00 UTC; the file keeps whole microseconds.
    package var time: Duration

    /// The packet's length in octets; ``data`` may be only its beginning.
    package var originalLength: UInt32

    package var data: ArraySlice<UInt8>

    /// 1970 in microseconds since the year 0 of the proleptic Gregorian calendar, from which the file counts.
    private static let epoch: Int64 = 0x00DC_DDB3_0F2F_8000
    /// The octets before ``data``: four numbers of four octets, and the time.
    private static let headSize = 24

    package init(flags: UInt32, time: Duration, data: ArraySlice<UInt8>, drops: UInt32 = 0) {
        self.flags = flags
        self.drops = drops
        self.time = time
        self.data = data
        originalLength = UInt32(truncatingIfNeeded: data.count)
    }

    /// The record, numbers most significant octet first.
    package var encoded: [UInt8] {
        let (seconds, attoseconds) = time.components
        let microseconds = seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000 &+ Self.epoch
        let length = UInt32(truncatingIfNeeded: data.count)
        return originalLength.bigEndianOctets + length.bigEndianOctets + flags.bigEndianOctets
            + drops.bigEndianOctets + microseconds.bigEndianOctets + data
    }

    /// Sets ``drops`` in encoded records.
    package static func setDrops(_ drops: UInt32, in records: inout [UInt8]) {
        let drops = drops.bigEndianOctets
        var start = 0
        while start + headSize <= records.count {
            for (offset, octet) in drops.enumerated() { records[start + 12 + offset] = octet }
            let length = records[start + 4..<start + 8].reduce(0) { $0 << 8 | Int($1) }
            start += headSize + length
        }
    }

    /// Reads the next record; `nil` at the end of the file, or if the file ends within a record.
    package init?(decoding reader: inout ByteReader) {
        guard let original = reader.bigEndian(4), let included = reader.bigEndian(4),
            let flags = reader.bigEndian(4), let drops = reader.bigEndian(4), let time = reader.bigEndian(8),
            let data = reader.bytes(Int(included))
        else { return nil }
        let microseconds = Int64(bitPattern: time) &- Self.epoch
        self.init(
            flags: UInt32(truncatingIfNeeded: flags),
            time: .microseconds(microseconds),
            data: data,
            drops: UInt32(truncatingIfNeeded: drops)
        )
        originalLength = UInt32(truncatingIfNeeded: original)
    }
}

extension BTSnoopRecord {
    /// A record of a file with the datalink ``BTSnoopDatalink/linuxMonitor``.
    package init(opcode: MonitorOpcode, index: UInt16, time: Duration, data: [UInt8]) {
        self.init(flags: UInt32(index) << 16 | UInt32(opcode.rawValue), time: time, data: data[...])
    }

    /// A record of a file with the datalink ``BTSnoopDatalink/hciUART``; `nil` if it is not an HCI packet.
    package init?(hciUART opcode: MonitorOpcode, time: Duration, data: [UInt8]) {
        let type: UInt8
        let flags: UInt32
        switch opcode {
        case .command: (type, flags) = (0x01, 0b10)
        case .event: (type, flags) = (0x04, 0b11)
        case .dataSent: (type, flags) = (0x02, 0b00)
        case .dataReceived: (type, flags) = (0x02, 0b01)
        default: return nil
        }
        self.init(flags: flags, time: time, data: [type] + data[...])
    }

    /// The record's content, in a file with the datalink ``BTSnoopDatalink/linuxMonitor``.
    package var opcode: MonitorOpcode { MonitorOpcode(rawValue: UInt16(truncatingIfNeeded: flags)) }

    /// The adapter's number, in a file with the datalink ``BTSnoopDatalink/linuxMonitor``.
    package var index: UInt16 { UInt16(truncatingIfNeeded: flags >> 16) }
}

/// The content of a record of Linux's monitor channel; unknown values are kept.
package struct MonitorOpcode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let newIndex = MonitorOpcode(rawValue: 0)
    package static let deletedIndex = MonitorOpcode(rawValue: 1)
    package static let command = MonitorOpcode(rawValue: 2)
    package static let event = MonitorOpcode(rawValue: 3)
    package static let dataSent = MonitorOpcode(rawValue: 4)
    package static let dataReceived = MonitorOpcode(rawValue: 5)
    package static let openIndex = MonitorOpcode(rawValue: 8)
    package static let closeIndex = MonitorOpcode(rawValue: 9)
    package static let indexInformation = MonitorOpcode(rawValue: 10)
    package static let systemNote = MonitorOpcode(rawValue: 12)
}
