import Testing

@testable import BLEProtocol

@Suite struct HCIFuzzTests {
    private static let seeds = [
        "043e1902 02 00 01 bb1d1a17f2c4 03 020106 c4 04 00 060504030201 00 7f",
        "043e230d01 1300 01 bb1d1a17f2c4 01 00 ff 7f c4 0000 00 000000000000 09 020106 03030d18 0109",
        "043e1d0d01 2500 00 060504030201 01 02 05 ec b0 a000 01 111213141516 03 020106",
    ]

    @Test(arguments: UInt64(0)..<4) func `no packet traps the parser or the assembler`(seed: UInt64) {
        var source = FuzzSource(seed: seed)
        var assembler = HCIReportAssembler()
        var whole = 0
        for round in 0..<6000 {
            let packet = source.mutated(WireText.octets(Self.seeds[round % Self.seeds.count]))
            for report in HCIAdvertisingReport.reports(in: packet) {
                if let joined = assembler.add(report), joined.data.bytes.count <= 1650 { whole += 1 }
            }
        }
        #expect(whole > 100)
    }

    @Test(arguments: UInt64(0)..<2) func `no octets trap the reader of captures`(seed: UInt64) {
        var source = FuzzSource(seed: seed)
        let capture = ATTCapture(index: 0)
        let time = ReceptionTime(sinceEpoch: .seconds(1), source: .kernel)
        let file = capture.opening(adapter: nil, name: "hci0", time: time)
        for _ in 0..<2000 {
            let octets = source.mutated(file)
            var reader = ByteReader(octets)
            guard BTSnoopHeader(decoding: &reader) != nil else { continue }
            while let record = BTSnoopRecord(decoding: &reader) {
                #expect(record.data.count <= octets.count)
            }
        }
    }

    @Test(arguments: UInt64(0)..<2) func `no text traps addresses and UUIDs`(seed: UInt64) {
        var source = FuzzSource(seed: seed)
        for _ in 0..<3000 {
            let address = source.mutated(Array("C4:F2:17:1A:1D:BB/random".utf8))
            if let read = BluetoothAddress(String(decoding: address, as: UTF8.self)) {
                #expect(BluetoothAddress(read.descriptionWithKind) == read)
            }
            let uuid = source.mutated(Array("0000180D-0000-1000-8000-00805F9B34FB".utf8))
            if let read = BluetoothUUID(String(decoding: uuid, as: UTF8.self)) {
                #expect(BluetoothUUID(read.description) == read)
            }
        }
    }
}
