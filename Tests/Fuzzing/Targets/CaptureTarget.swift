import BLEProtocol

extension FuzzTarget {
    /// A file of records: what is read is written octet for octet as it stood.
    static let btsnoop = FuzzTarget("btsnoop", longest: 512, seeds: captureSeeds) { octets in
        var reader = ByteReader(octets)
        guard let header = BTSnoopHeader(decoding: &reader) else { return }
        var written = header.encoded
        while let record = BTSnoopRecord(decoding: &reader) {
            try FuzzTarget.check(record)
            written += record.encoded
        }
        try require(octets.starts(with: written), "a record is written otherwise than it was read")
        try FuzzTarget.checkDrops(of: Array(written.dropFirst(16)))
        try require(written.count + reader.remaining.count >= octets.count - 24, "octets were passed over")
    }

    /// Made from its parts, of both kinds of file, it is the same record.
    private static func check(_ record: BTSnoopRecord) throws {
        let data = Array(record.data)
        let again = BTSnoopRecord(opcode: record.opcode, index: record.index, time: record.time, data: data)
        try require(again.flags == record.flags && again.data == record.data, "\(record.flags) is made otherwise")
        guard let uart = BTSnoopRecord(hciUART: record.opcode, time: record.time, data: data) else { return }
        try require(uart.data.dropFirst() == record.data && uart.flags < 4, "a packet of UART differs")
    }

    private static func checkDrops(of records: [UInt8]) throws {
        var records = records
        BTSnoopRecord.setDrops(0x0102_0304, in: &records)
        var reader = ByteReader(records)
        while let record = BTSnoopRecord(decoding: &reader) {
            try require(record.drops == 0x0102_0304, "\(record.drops) drops in place of those that were set")
        }
        try require(reader.isAtEnd, "the records are others")
    }

    private static let captureSeeds: [[UInt8]] = {
        let time = ReceptionTime(sinceEpoch: .seconds(1), source: .kernel)
        var capture = ATTCapture(index: 0)
        let address = BluetoothAddress("C4:F2:17:1A:1D:BB/random")
        let opening = capture.opening(adapter: address, name: "hci0", time: time)
        let record = BTSnoopRecord(opcode: .event, index: 1, time: .seconds(2), data: [0x3E, 1, 2])
        let uart = BTSnoopRecord(hciUART: .dataSent, time: .seconds(3), data: [1, 2, 3])?.encoded ?? []
        return [
            opening, opening + capture.note("a note", time: time),
            BTSnoopHeader(datalink: .linuxMonitor).encoded + record.encoded,
            BTSnoopHeader(datalink: .hciUART).encoded + uart,
        ]
    }()
}
