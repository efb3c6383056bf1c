import Testing

@testable import BLEProtocol

/// The packets were checked against Wireshark's reading of them.
@Suite struct HCIAdvertisingReportTests {
    private let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)

    private func reports(_ text: String) -> [HCIAdvertisingReport] {
        HCIAdvertisingReport.reports(in: WireText.octets(text))
    }

    @Test func `all reports of a legacy packet`() throws {
        let reports = reports("043e1902 02 00 01 bb1d1a17f2c4 03 020106 c4 04 00 060504030201 00 7f")
        try #require(reports.count == 2)
        #expect(reports[0].address == peer && reports[0].kind == [.legacy, .connectable, .scannable])
        #expect(reports[0].rssi == -60 && reports[0].data.bytes == [0x02, 0x01, 0x06])
        #expect(reports[0].dataStatus == .complete && reports[0].set == nil)
        #expect(reports[1].address == BluetoothAddress("01:02:03:04:05:06/public"))
        #expect(reports[1].kind == [.legacy, .scannable, .scanResponse])
        #expect(reports[1].rssi == nil && reports[1].data.bytes.isEmpty)
    }

    @Test func `a legacy packet's type`() {
        let kinds = (UInt8(0)...5).map { type in
            let packet = WireText.octets("043e0c02 01") + [type] + WireText.octets("00 060504030201 00 7f")
            return HCIAdvertisingReport.reports(in: packet).first?.kind
        }
        #expect(
            kinds == [
                [.legacy, .connectable, .scannable], [.legacy, .connectable, .directed], [.legacy, .scannable],
                [.legacy], [.legacy, .scannable, .scanResponse], nil,
            ]
        )
    }

    @Test func `an extended report of a legacy packet`() throws {
        let report = try #require(
            reports(
                "043e230d01 1300 01 bb1d1a17f2c4 01 00 ff 7f c4 0000 00 000000000000 09 020106 03030d18 0109"
            ).first
        )
        #expect(report.address == peer)
        #expect(report.kind == [.connectable, .scannable, .legacy] && report.dataStatus == .complete)
        #expect(report.set == nil && report.rssi == -60)
        #expect(report.data.lists(.heartRate))
    }

    @Test func `an extended report that a further one continues`() throws {
        let report = try #require(
            reports("043e1d0d01 2500 00 060504030201 01 02 05 ec b0 a000 01 111213141516 03 020106").first
        )
        #expect(report.address == BluetoothAddress("01:02:03:04:05:06/public"))
        #expect(report.kind == [.connectable, .directed] && report.dataStatus == .moreToCome)
        #expect(report.set == 5 && report.rssi == -80)
    }

    @Test(arguments: [UInt8(0), 1, 2, 3]) func `a resolved address is an identity address`(type: UInt8) throws {
        let packet = WireText.octets("043e0c02 01 00") + [type] + WireText.octets("060504030201 00 7f")
        let report = try #require(HCIAdvertisingReport.reports(in: packet).first)
        let kind: BluetoothAddress.Kind = type.isMultiple(of: 2) ? .public : .random
        #expect(report.address == BluetoothAddress(rawValue: 0x0102_0304_0506, kind: kind))
    }

    @Test func `an anonymous advertisement has no address`() throws {
        let report = try #require(
            reports("043e1a0d01 0000 ff 000000000000 01 00 00 7f 7f 0000 00 000000000000 00").first
        )
        #expect(report.address == nil && report.set == 0)
    }

    @Test(arguments: [
        "", "04", "043e", "043e00", "043e0102", "043e020200", "040e0401010c00", "023e0c0201 00 00 060504030201 00 7f",
        "043e0c0a01 00 00 060504030201 00 7f", "043e0d0201 00 00 060504030201 00 7f",
        "043e0c0201 05 00 060504030201 00 7f", "043e0c0201 00 00 060504030201 01 7f",
        "043e1a0d01 0000 ff 000000000000 01 00 00 7f 7f 0000 00 000000000000 01",
    ])
    func `other packets and broken ones hold no report`(text: String) {
        #expect(reports(text).isEmpty)
    }

    @Test func `reports before a broken one count`() {
        let octets = "02 02 00 01 bb1d1a17f2c4 03 020106 c4 04 00 060504030201 09"
        #expect(reports("043e18" + octets).map(\.rssi) == [-60])
        // The packet itself is cut off.
        #expect(reports("043e19" + octets).isEmpty)
    }
}
