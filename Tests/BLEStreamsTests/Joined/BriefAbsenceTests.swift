import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import RadioDoubles
import Testing

/// A scan on joined adapters of which one is off, or away, for so short a time that it is on when its scan fails.
@Suite(.timeLimit(.minutes(10))) struct BriefAbsenceTests {
    /// Fails to scan the first few times.
    private struct BriefRadio: RelayingRadio {
        let radio: SimulatedAdapter
        let failures: Int
        let error: BLEError
        let scans: Recorder<Duration>

        func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
            scans.add(radio.timeline.now)
            guard scans.all.count <= failures else { return radio.scan(request, events: events) }
            return radio.timeline.schedule(after: .zero) { events(.failed(error)) }
        }
    }

    /// After what pauses the nearest adapter scans, if its first scans fail so.
    private static func pauses(_ code: BLEError.Code, failures: Int) async throws -> [Duration] {
        let scans = Recorder<Duration>()
        try await JoinedSite.run { site in
            let error = BLEError(code, operation: "scan", cause: "the test says so", remedy: "None.")
            let brief = BriefRadio(radio: site.adapters[0], failures: failures, error: error, scans: scans)
            let central = try await Central.open(.joined([.radio(brief), .radio(site.adapters[1])]))
            for try await _ in central.scan(duplicates: true).take(until: site.time.after(.seconds(30))) {}
        }
        return zip(scans.all, scans.all.dropFirst()).map { $1 - $0 }
    }

    @Test(arguments: [BLEError.Code.adapterPoweredOff, .adapterNotFound])
    func `it goes on there at once`(_ code: BLEError.Code) async throws {
        let pauses = try await Self.pauses(code, failures: 1)
        #expect(pauses.count == 1 && pauses.allSatisfy { $0 < .seconds(1) }, "\(pauses)")
    }

    @Test func `where that fails again it is left out for longer`() async throws {
        let pauses = try await Self.pauses(.adapterPoweredOff, failures: 2)
        #expect(pauses.count == 2 && pauses.last.map { $0 >= .seconds(10) } == true, "\(pauses)")
    }

    @Test func `what has another cause is not tried again at once`() async throws {
        let pauses = try await Self.pauses(.busy, failures: 1)
        #expect(pauses.count == 1 && pauses.allSatisfy { $0 >= .seconds(10) }, "\(pauses)")
    }
}
