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

    /// Recordings by other programs; their README says how each was made.
    private static let own = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Recordings").path
    /// Where there are more. They may have a licence of their own, so the package has none of them.
    private static let others = ProcessInfo.processInfo.environment["BLESTREAMS_RECORDINGS"]

    /// The paths of all of them.
    private static var files: [String] {
        [own, others].compactMap { $0 }.flatMap { folder in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.filter { !$0.hasSuffix(".md") && !$0.hasSuffix(".py") }.sorted().map { "\(folder)/\($0)" }
        }
    }

    @Test func `there are recordings by three other programs`() {
        #expect(Self.files.count >= 3)
    }

    @Test(.timeLimit(.minutes(10)), arguments: files)
    func `what others have recorded is heard as it was`(_ file: String) async throws {
        let traffic = try #require(CaptureReader.traffic(in: Self.octets(of: file)))
        let recording = try RecordedTraffic(file: file)
        #expect(recording.leftOut == 0)
        try #require(recording.advertisementCount > 0)
        let recorded = traffic.advertisements.map { heard in
            Heard(address: heard.address, rssi: heard.rssi.map { Int($0) }, data: heard.data)
        }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter(address: Self.phone)
            try await air.replay(recording) {
                let central = try await Central.open(.radio(phone))
                let length = recording.duration + .seconds(1)
                let all = try await central.scan(duplicates: true).prefix(for: length).collect()
                // Who has a recorded link repeats the last advertisement after it, to be found.
                var left = Dictionary(grouping: recorded, by: \.address).mapValues(\.count)
                let heard = all.filter { report in
                    left[report.peripheral.address, default: 0] -= 1
                    return left[report.peripheral.address, default: 0] >= 0
                }
                #expect(
                    heard.map { Heard(address: $0.peripheral.address, rssi: $0.rssi, data: $0.advertisement.bytes) }
                        == recorded
                )
                let repeating = Set(left.filter { $0.value < 0 }.keys)
                #expect(repeating.isSubset(of: recording.peripherals))
            }
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: files)
    func `who does what the recorded program did is sent what that was sent`(_ file: String) async throws {
        let traffic = try #require(CaptureReader.traffic(in: Self.octets(of: file)))
        let recording = try RecordedTraffic(file: file)
        for address in recording.peripherals {
            let links = traffic.links.filter { $0.peripheral == address }
            let count = try await VirtualTime.run { time in
                let air = SimulatedAir(time)
                let phone = air.adapter(address: Self.phone)
                return try await air.replay(recording) {
                    let peripheral = try await Central.open(.radio(phone)).peripheral(address)
                    var count = 0
                    for link in links { count += try await Self.expectSame(as: link, from: peripheral, time) }
                    return count
                }
            }
            if file.hasPrefix(Self.own) { #expect(count > 0) }
            print("\(URL(filePath: file).lastPathComponent): \(address): \(count) values on \(links.count) links")
        }
    }

    /// Expects that a link replays as it was recorded, and returns how many values came.
    private static func expectSame(
        as link: CapturedTraffic.Link,
        from peripheral: Peripheral,
        _ time: VirtualTime
    ) async throws -> Int {
        try await peripheral.withLink { again in
            let database = try await again.discover()
            #expect(!database.services.isEmpty)
            let program = RecordedProgram(link, database.configurations)
            let values = try await program.run(on: again, database, time)
            #expect(values == program.values, "\(values.count) of \(program.values.count) values")
            return values.count
        }
    }

    /// An advertisement as a scan reports it.
    private struct Heard: Hashable {
        var address: BluetoothAddress
        var rssi: Int?
        var data: [UInt8]
    }

    private static let phone = BluetoothAddress("AA:BB:CC:DD:EE:01/public")

    private static func octets(of file: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: file)))
    }
}
