import BLELinux
import BLEProtocol
import BLERadio
import BLEStreams
import CBenchmarks
import RadioDoubles

/// From the octets of a management event to an element in a scan loop, and parsing alone; on one core, so the rate is
/// of the processor time of all threads together.
struct Advertising {
    private let suite = "advertising"
    private let count = 400_000

    @MainActor
    func run(_ runs: Int) async throws -> [Row] {
        var (parsed, scanned): ([Double], [Double]) = ([], [])
        CBenchmarks_resetPeakMemory()
        for _ in 0..<runs {
            parsed.append(Double(count) / (Double(Self.parse(count)) / 1e9))
            scanned.append(Double(count) / (Double(try await scan()) / 1e9))
        }
        let peak = Double(CBenchmarks_peakMemory())
        return [
            Row(
                suite,
                "an event's octets to an element of a scan",
                .rate,
                scanned,
                goal: .atLeast(300_000),
                allocations: try await allocations(of: count) { _ = try await scan() },
                peakMemory: peak
            ),
            Row(
                suite,
                "parsing an event alone",
                .rate,
                parsed,
                goal: .atLeast(2_000_000),
                allocations: await allocations(of: count) { _ = Self.parse(count) }
            ),
        ]
    }

    /// Nanoseconds of processor time for so many events, each parsed as far as a report.
    static func parse(_ count: Int) -> UInt64 {
        var client = ManagementClient()
        let time = ReceptionTime(sinceEpoch: .seconds(1), source: .reading)
        var checked = 0
        let begin = CBenchmarks_processorTime()
        for _ in 0..<count {
            let output = client.received(event)
            guard case .deviceFound(let found)? = output.event?.event else { continue }
            if AdvertisingReport(found, time: time)?.rssi == -59 { checked += 1 }
        }
        let end = CBenchmarks_processorTime()
        precondition(checked == count, "an event was not understood")
        return end - begin
    }

    /// Nanoseconds of processor time for all events, through a filter, to the consumer.
    @concurrent private func scan() async throws -> UInt64 {
        let central = try await Central.open(.radio(EventRadio(count: count, loop: try EventLoop(name: "benchmarks"))))
        var received = 0
        var begin: UInt64 = 0
        for try await found in central.scan(for: .service(.heartRate), duplicates: true, buffer: .unbounded) {
            if received == 0 { begin = CBenchmarks_processorTime() }
            precondition(found.rssi == -59, "an event was not understood")
            received += 1
            if received == count { break }
        }
        return CBenchmarks_processorTime() - begin
    }

    /// Device Found of a heart-rate sensor with a name: 43 octets, as the kernel sends them.
    static let event: [UInt8] =
        [0x12, 0, 0, 0, 37, 0]  // code, controller, length
        + [0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4, 2, 0xC5, 0, 0, 0, 0, 23, 0]  // address, RSSI, flags, length
        + [2, 1, 6, 3, 3, 0x0D, 0x18, 2, 0x0A, 4, 12, 9] + Array("Heart Rate ".utf8)
}

/// A radio whose scan is fed with management events, as a socket brings them: in batches.
private struct EventRadio: IdleRadio {
    let count: Int
    let loop: EventLoop

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        let count = count
        loop.enqueue {
            events(.started)
            var client = ManagementClient()
            var sent = 0
            while sent < count {
                let time = RealTimeline().wallTime
                var reports: [AdvertisingReport] = []
                for _ in 0..<min(64, count - sent) {
                    guard case .deviceFound(let found)? = client.received(Advertising.event).event?.event,
                        let report = AdvertisingReport(found, time: time)
                    else { continue }
                    reports.append(report)
                }
                sent += reports.count
                events(.reports(reports))
            }
        }
        return RadioActivity {}
    }
}
