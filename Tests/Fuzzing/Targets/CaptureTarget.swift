import BLEProtocol

extension FuzzTarget {
    /// A file of records: what is read is written octet for octet as it stood.
    static let btsnoop = FuzzTarget("btsnoop", longest: 512, seeds: captureSeeds) { octets in
        var reader = ByteReader(octets)
        guard let header = BTSnoopHeader(decoding: &reader) else { return }
        var written = header.encoded
        while let record = BTSnoopRecord(decoding: &reader) {
            _ = (record.opcode, record.index)
            written += record.encoded
        }
        try require(octets.starts(with: written), "a record is written otherwise than it was read")
        try require(written.count + reader.remaining.count >= octets.count - 24, "octets were passed over")
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
