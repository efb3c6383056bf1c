import BLESimulator
import BLEStreams
import Foundation
import Testing

/// Programs that find a peripheral again each time, and come later than the recorded one did.
@Suite(.timeLimit(.minutes(10))) struct LateProgramReplayTests {
    private static let pause = Duration.seconds(60)

    /// Three visits; how long each search took.
    private static func visits(_ central: Central, _ time: VirtualTime, late: Duration) async throws -> [Duration] {
        var searches: [Duration] = []
        for _ in 0..<3 {
            let begin = time.now
            let scan = central.scan(for: .service(BluetoothUUID(0xA000)))
            let found = try await scan.timeout(.seconds(10)).first()
            searches.append(time.now - begin)
            try await found.peripheral.withLink { _ = try await $0.read(Bench.long) }
            try await time.sleep(for: pause + late)
        }
        return searches
    }

    private static func recording() async throws -> RecordedTraffic {
        let path = FileManager.default.temporaryDirectory.appending(path: "replay-\(UUID()).btsnoop").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let capture = try TrafficCapture(file: path)
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter).captured(in: capture))
            _ = try await visits(central, bench.time, late: .zero)
        }
        try await capture.close()
        return try RecordedTraffic(file: path)
    }

    @Test(arguments: [Duration.milliseconds(200), .seconds(3), .seconds(40)])
    func `a peripheral is found again though the recorded program no longer scanned by then`(
        late: Duration
    ) async throws {
        let recording = try await Self.recording()
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter()
            let searches = try await air.replay(recording) {
                try await Self.visits(Central.open(.radio(phone)), time, late: late)
            }
            #expect(searches.allSatisfy { $0 <= .seconds(2) })
        }
    }

    /// The recorded advertisements are all that it hears; it may begin after the first one.
    @Test func `a scan beside a program that does what the recorded one did hears nothing more`() async throws {
        let recording = try await Self.recording()
        let heard = Recorder<Discovery>()
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter()
            let listener = air.adapter(address: BluetoothAddress("AA:BB:CC:DD:EE:01/public"))
            try await air.replay(recording) {
                try await withThrowingTaskGroup { group in
                    group.addTask {
                        let scan = try await Central.open(.radio(listener)).scan(duplicates: true)
                        for try await discovery in scan.prefix(for: recording.duration - .seconds(1)) {
                            heard.add(discovery)
                        }
                    }
                    group.addTask {
                        _ = try await Self.visits(Central.open(.radio(phone)), time, late: .zero)
                    }
                    try await group.waitForAll()
                }
            }
        }
        #expect(2...recording.advertisementCount ~= heard.all.count)
    }
}
