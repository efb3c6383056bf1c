import BLEProtocol
import BLESimulator
import BLEStreams
import Foundation
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

    /// Where there are recordings by others. They may have a licence of their own, so the package has none.
    private static let folder = ProcessInfo.processInfo.environment["BLESTREAMS_RECORDINGS"]

    private static var files: [String] {
        let names = folder.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0) } ?? []
        return names.sorted()
    }

    @Test(
        .enabled(if: folder != nil, "BLESTREAMS_RECORDINGS names no folder of recordings that others have made"),
        .timeLimit(.minutes(10)),
        arguments: files
    )
    func `what others have recorded is heard, and connected to`(_ file: String) async throws {
        let recording = try RecordedTraffic(file: "\(Self.folder ?? "")/\(file)")
        #expect(recording.advertisementCount > 0 || !recording.peripherals.isEmpty)
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter(address: BluetoothAddress("AA:BB:CC:DD:EE:01/public"))
            try await air.replay(recording) {
                let central = try await Central.open(.radio(phone))
                let length = recording.duration + .seconds(1)
                let heard = try await central.scan(duplicates: true).prefix(for: length).collect()
                // A scan response is a report of its own.
                #expect(heard.count >= recording.advertisementCount)
                print("\(file): \(heard.count) advertisements, \(recording.leftOut) packets left out")
                for address in recording.peripherals {
                    let (services, values) = try await Self.follow(central.peripheral(address), time)
                    #expect(services > 0)
                    print("\(file): \(address): \(services) services, \(values) values")
                }
            }
        }
    }

    /// How many services a peripheral has, and how many values it sends within a minute to one who subscribes to all.
    private static func follow(_ peripheral: Peripheral, _ time: VirtualTime) async throws -> (Int, Int) {
        try await peripheral.withLink { link in
            let services = try await link.discover().services
            let notifying = services.flatMap(\.characteristics).filter {
                !$0.properties.isDisjoint(with: [.notify, .indicate])
            }
            let streams = notifying.map { link.notifications(of: $0) }
            let values = try await streams.merged().prefix(for: .seconds(60)).collect()
            return (services.count, values.count)
        }
    }
}
