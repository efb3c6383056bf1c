import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// Files that other programs have written, or that aren't recordings at all.
@Suite struct ForeignRecordingTests {
    @Test(
        arguments: [
            ([], "it is empty", "btmon -w"),
            (Array("P    [2021-04-04]".utf8), "it is not a btsnoop file", "btmon -w"),
            ([0x0A, 0x0D, 0x0D, 0x0A, 0x1C, 0, 0, 0], "pcapng", "tshark -r IN -F btsnoop"),
            ([0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0], "pcap file", "tshark -r IN -F btsnoop"),
            ([0xA1, 0xB2, 0x3C, 0x4D], "pcap file", "tshark -r IN -F btsnoop"),
            ([0x1F, 0x8B, 8, 0], "compressed", "gunzip"),
            (BTSnoopHeader(datalink: BTSnoopDatalink(rawValue: 1003)).encoded, "datalink is 1003", "btmon -w"),
            (BTSnoopHeader(datalink: .hci).encoded.dropLast() + [], "it is not a btsnoop file", "btmon -w"),
        ] as [([UInt8], String, String)]
    )
    func `what is no recording is told with what it is, and what is accepted`(
        _ octets: [UInt8],
        _ cause: String,
        _ remedy: String
    ) async {
        let error = await bleError { _ = try RecordedTraffic(octets) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.cause.contains(cause) == true, "\(error?.cause ?? "")")
        #expect(error?.remedy.contains(remedy) == true)
    }
}
