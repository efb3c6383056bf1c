import BLEProtocol
import BLESimulator
import BLEStreams
import Foundation
import Testing

/// Recordings of links that were lost.
@Suite(.timeLimit(.minutes(10))) struct LostLinkReplayTests {
    /// Eight values; three of them come before the link is lost, if it is.
    private static func values(_ central: Central) async throws -> [[UInt8]] {
        let found = try await central.scan(for: .service(BluetoothUUID(0xA000))).timeout(.seconds(30)).first()
        let values = found.peripheral.stream { $0.notifications(of: Bench.notifying) }.retry().timeout(.seconds(60))
        return try await values.collect(8).map { Array($0) }
    }

    private static let loss = Fault.dropLink(after: 3, .notifications)

    @Test func `a recorded link is lost again where a fault ends it, and not by itself`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "replay-\(UUID()).btsnoop").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let capture = try TrafficCapture(file: path)
        let recorded = Recorder<[[UInt8]]>()
        try await Bench.run(serve: ReplayTests.serve) { bench in
            bench.air.faults.add(Self.loss)
            let adapter = AdapterChoice.radio(bench.centralAdapter).captured(in: capture)
            recorded.add(try await Central.with(adapter) { try await Self.values($0) })
        }
        try await capture.close()
        let octets = [UInt8](try Data(contentsOf: URL(filePath: path)))
        #expect(try await Self.replayed(octets, losing: true) == recorded.all.first)
        let error = await bleError { _ = try await Self.replayed(octets, losing: false) }
        #expect(error?.code == .timedOut)
    }

    private static func replayed(_ octets: [UInt8], losing isLosing: Bool) async throws -> [[UInt8]] {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter()
            if isLosing { air.faults.add(loss) }
            return try await air.replay(RecordedTraffic(octets)) {
                try await Central.with(.radio(phone)) { try await values($0) }
            }
        }
    }
}
