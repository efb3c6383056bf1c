import BLEProtocol
import BLERadio
import BLEStreams
import RadioDoubles
import Synchronization
import Testing

/// What becomes of advertisements that the kernel had no room for: every scan that runs counts them, in their place.
@Suite(.timeLimit(.minutes(10))) struct ScanDropTests {
    /// A radio that receives what a test says; each scan begins with one advertisement.
    private final class ScriptedRadio: IdleRadio {
        typealias Events = @Sendable (ScanEvent) -> Void

        private let scans = Mutex<[Events]>([])

        /// How many scans were begun.
        var scanCount: Int { scans.withLock { $0.count } }

        /// Tells something to a scan: the one that was begun last, unless another is named.
        func tell(_ event: ScanEvent, scan: Int? = nil) {
            let events = scans.withLock { $0[scan ?? $0.count - 1] }
            events(event)
        }

        func scan(_ request: ScanRequest, events: @escaping Events) -> RadioActivity {
            scans.withLock { $0.append(events) }
            events(.started)
            events(.reports([ScanDropTests.report(0)]))
            return RadioActivity {}
        }
    }

    private static func report(_ number: UInt64) -> AdvertisingReport {
        AdvertisingReport(
            address: BluetoothAddress(rawValue: 0xC000_0000_0000 + number, kind: .random),
            rssi: -50,
            isConnectable: true,
            data: AdvertisingData(bytes: []),
            time: ReceptionTime(sinceEpoch: .zero, source: .simulation)
        )
    }

    private func text(_ item: Gapped<Discovery>?) -> String {
        switch item {
        case .value(let discovery)?: "\(discovery.address.rawValue & 0xFF)"
        case .gap(let gap)?: "\(gap.dropped) dropped" + (gap.duration == .zero ? "" : " in \(gap.duration)")
        case nil: "end"
        }
    }

    @Test(arguments: [.all, .changes, .ignored] as [Central.Duplicates])
    func `what is missing is counted, and stands where it is missing`(
        duplicates: Central.Duplicates
    ) async throws {
        let radio = ScriptedRadio()
        let central = try await Central.open(.radio(radio))
        let found = central.scan(duplicates: duplicates)
        var items = found.withGaps().makeAsyncIterator()
        var seen = [text(try await items.next())]
        radio.tell(.reports([Self.report(1)]))
        radio.tell(.dropped(7))
        radio.tell(.reports([Self.report(2), Self.report(3)]))
        for _ in 0..<4 { seen.append(text(try await items.next())) }
        #expect(seen == ["0", "1", "7 dropped", "2", "3"])
        #expect(found.counters.received == 11)
        #expect(found.counters.dropped == 7)
        #expect(found.counters.delivered == 4)
    }

    @Test func `who waits hears of what is missing at once`() async throws {
        let radio = ScriptedRadio()
        let central = try await Central.open(.radio(radio))
        var items = central.scan(for: .name("Nobody")).withGaps().makeAsyncIterator()
        let telling = Task {
            while radio.scanCount == 0 { await Task.yield() }
            radio.tell(.dropped(2))
        }
        #expect(text(try await items.next()) == "2 dropped")
        await telling.value
    }

    @Test func `each of several scans counts all of it, whatever its filters would have let pass`() async throws {
        let radio = ScriptedRadio()
        let central = try await Central.open(.radio(radio))
        let all = central.scan(duplicates: true)
        var items = all.withGaps().makeAsyncIterator()
        _ = try await items.next()
        let none = central.scan(for: .name("Nobody"), duplicates: true)
        let waiting = Task { try await none.withGaps().first() }
        // It shares the scan that runs, so nothing but its own opening tells that it is there.
        while none.counters.received == 0 {
            radio.tell(.dropped(1))
            await Task.yield()
        }
        #expect(text(try await waiting.value) == "1 dropped")
        radio.tell(.reports([Self.report(1)]))
        var seen: [String] = []
        while seen.last != "1" { seen.append(text(try await items.next())) }
        #expect(seen.count == 2, "gaps that nothing lies between are one")
        #expect(radio.scanCount == 1)
        #expect(none.counters.dropped == 1 && none.counters.delivered == 0)
        #expect(all.counters.dropped >= 1 && all.counters.delivered == 2)
    }

    @Test func `what a scan tells that another has replaced is nobody's`() async throws {
        let radio = ScriptedRadio()
        let central = try await Central.open(.radio(radio))
        let passive = central.scan(duplicates: true, mode: .passive)
        var first = passive.withGaps().makeAsyncIterator()
        _ = try await first.next()
        let active = central.scan(duplicates: true, mode: .active)
        var second = active.withGaps().makeAsyncIterator()
        _ = try await second.next()
        try #require(radio.scanCount == 2)
        radio.tell(.dropped(9), scan: 0)
        radio.tell(.dropped(4), scan: 1)
        // The second scan began with an advertisement for both.
        #expect(text(try await first.next()) == "0")
        #expect(text(try await first.next()) == "4 dropped")
        #expect(text(try await second.next()) == "4 dropped")
        #expect(passive.counters.dropped == 4 && active.counters.dropped == 4)
    }

    @Test func `what is missing after the last consumer has left is nobody's`() async throws {
        let radio = ScriptedRadio()
        let central = try await Central.open(.radio(radio))
        let found = central.scan(duplicates: true)
        _ = try await found.first()
        radio.tell(.dropped(3))
        #expect(found.counters.dropped == 0)
        var items = found.withGaps().makeAsyncIterator()
        #expect(text(try await items.next()) == "0")
        radio.tell(.dropped(5))
        #expect(text(try await items.next()) == "5 dropped")
        #expect(found.counters.dropped == 5)
    }
}
