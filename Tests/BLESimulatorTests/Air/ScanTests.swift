import BLEProtocol
import BLERadio
import BLESimulator
import Testing

/// What a scan heard.
private final class Scan: Sendable {
    let reports = Log<(time: Duration, report: AdvertisingReport)>()
    let errors = Log<BLEError>()
    let starts = Log<Duration>()
    let activity: RadioActivity

    init(_ adapter: SimulatedAdapter, _ request: ScanRequest = ScanRequest()) {
        let (reports, errors, starts) = (reports, errors, starts)
        let timeline = adapter.timeline
        activity = adapter.scan(request) { event in
            switch event {
            case .started: starts.append(timeline.now)
            case .reports(let new): for report in new { reports.append((timeline.now, report)) }
            case .dropped(let count): Issue.record("a simulated radio drops no advertisement, and said \(count)")
            case .failed(let error): errors.append(error)
            }
        }
    }
}

private let flags: [UInt8] = [2, 0x01, 0x06]
private let name: [UInt8] = [3, 0x09, 0x41, 0x42]

private func advertise(_ adapter: SimulatedAdapter, isConnectable: Bool = true) -> RadioActivity {
    let request = AdvertiseRequest(
        data: AdvertisingData(bytes: flags),
        scanResponse: AdvertisingData(bytes: name),
        isConnectable: isConnectable
    )
    return adapter.advertise(request) { _ in }
}

@Suite(.timeLimit(.minutes(10))) struct ScanTests {
    @Test func `an active scan gets advertisement and scan response as one report`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let sensor = air.adapter()
            let scan = Scan(air.adapter())
            let advertisement = advertise(sensor)
            try await time.sleep(for: .seconds(1))
            let report = try #require(scan.reports.values.first?.report)
            #expect(report.data.bytes == flags + name)
            #expect(report.address == sensor.address)
            #expect(report.rssi == -60)
            #expect(report.isConnectable)
            #expect(report.time.source == .simulation)
            #expect(scan.starts.values == [.zero])
            advertisement.cancel()
            scan.activity.cancel()
        }
    }

    @Test func `a passive scan gets the advertisement alone`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let scan = Scan(air.adapter(), ScanRequest(isActive: false))
            let advertisement = advertise(air.adapter(), isConnectable: false)
            try await time.sleep(for: .seconds(1))
            let report = try #require(scan.reports.values.first?.report)
            #expect(report.data.bytes == flags)
            #expect(!report.isConnectable)
            advertisement.cancel()
            scan.activity.cancel()
        }
    }

    @Test func `advertising events come at the interval plus a random delay of up to 10 ms`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let sensor = air.adapter(settings: AdapterSettings(advertisingInterval: .milliseconds(200)))
            let scan = Scan(air.adapter())
            let advertisement = advertise(sensor)
            try await time.sleep(for: .seconds(60))
            let times = scan.reports.values.map(\.time)
            let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
            #expect(gaps.count > 280)
            #expect(gaps.allSatisfy { $0 >= .milliseconds(200) && $0 <= .milliseconds(210) })
            #expect(Set(gaps).count > 100)
            advertisement.cancel()
            scan.activity.cancel()
        }
    }

    @Test func `without duplicates a device is reported once in each round of discovery`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let scan = Scan(air.adapter(), ScanRequest(reportsDuplicates: false))
            let advertisements = [advertise(air.adapter()), advertise(air.adapter())]
            try await time.sleep(for: .seconds(60))
            let devices = Dictionary(grouping: scan.reports.values, by: \.report.address)
            #expect(devices.count == 2)
            for reports in devices.values {
                let gaps = zip(reports.dropFirst(), reports).map { $0.time - $1.time }
                #expect(gaps.count >= 18)
                // The first advertisement in a round comes up to 110 ms behind its beginning.
                #expect(gaps.allSatisfy { $0 >= .milliseconds(2890) && $0 <= .milliseconds(3220) })
            }
            for advertisement in advertisements { advertisement.cancel() }
            scan.activity.cancel()
        }
    }

    @Test func `signal strength follows the pair of adapters`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter()
            let adapters = (0..<4).map { _ in air.adapter() }
            air.setSignal(.dBm(-80, jitter: 5), between: phone, and: adapters[0])
            air.setSignal(.metres(10), between: adapters[1], and: phone)
            air.setSignal(.unknown, between: phone, and: adapters[2])
            air.setSignal(.outOfRange, between: phone, and: adapters[3])
            let scan = Scan(phone)
            let advertisements = adapters.map { advertise($0) }
            try await time.sleep(for: .seconds(20))
            let levels = Dictionary(grouping: scan.reports.values.map(\.report), by: \.address)
                .mapValues { Set($0.map(\.rssi)) }
            #expect(levels[adapters[0].address] == Set((-85...(-75)).map { Int8($0) }))
            #expect(levels[adapters[1].address] == [-79])
            #expect(levels[adapters[2].address] == [nil])
            #expect(levels[adapters[3].address] == nil)
            for advertisement in advertisements { advertisement.cancel() }
            scan.activity.cancel()
        }
    }

    @Test func `a second scan on one adapter is refused, one on another is not`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let adapter = air.adapter()
            let first = Scan(adapter)
            let second = Scan(adapter)
            let other = Scan(air.adapter())
            try await time.sleep(for: .seconds(1))
            #expect(second.errors.values.map(\.code) == [.busy])
            #expect(second.starts.values.isEmpty)
            #expect(first.errors.values.isEmpty && other.errors.values.isEmpty)
            first.activity.cancel()
            let third = Scan(adapter)
            try await time.sleep(for: .seconds(1))
            #expect(third.starts.values.count == 1)
            withExtendedLifetime((second, other, third)) {}
        }
    }

    @Test func `nothing is heard after the scan was cancelled, or after the advertisement was`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter()
            let sensor = air.adapter()
            let scan = Scan(phone)
            var advertisement: RadioActivity? = advertise(sensor)
            try await time.sleep(for: .seconds(1))
            advertisement?.cancel()
            let heard = scan.reports.values.count
            #expect(heard > 5)
            try await time.sleep(for: .seconds(1))
            #expect(scan.reports.values.count == heard)
            advertisement = advertise(sensor)
            try await time.sleep(for: .seconds(1))
            scan.activity.cancel()
            let heardAgain = scan.reports.values.count
            #expect(heardAgain > heard)
            #expect(phone.activity.isIdle)
            try await time.sleep(for: .seconds(1))
            #expect(scan.reports.values.count == heardAgain)
            advertisement = nil
            #expect(sensor.activity.isIdle)
        }
    }

    @Test func `no time passes for advertising that nobody hears`() async throws {
        // A dead end is found at once only if no timer runs.
        await #expect(throws: VirtualTimeError.self) {
            try await VirtualTime.run(patience: .milliseconds(20)) { time in
                let air = SimulatedAir(time)
                let advertisement = advertise(air.adapter())
                let (never, _) = AsyncStream<Void>.makeStream()
                for await _ in never {}
                advertisement.cancel()
            }
        }
    }

    @Test func `an adapter that is off, blocked or unplugged refuses with the remedy`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let adapter = air.adapter(name: "hci7")
            let cases: [(BLEError.Code, @Sendable (SimulatedAdapter) -> Void)] = [
                (.adapterPoweredOff, { $0.powerOff() }), (.adapterBlocked, { $0.block() }),
                (.adapterNotFound, { $0.unplug() }),
            ]
            for (code, change) in cases {
                adapter.powerOn()
                let running = Scan(adapter)
                try await time.sleep(for: .milliseconds(1))
                change(adapter)
                let late = Scan(adapter)
                try await time.sleep(for: .milliseconds(1))
                for scan in [running, late] {
                    #expect(scan.errors.values.map(\.code) == [code])
                    #expect(scan.errors.values.first?.remedy.isEmpty == false)
                    #expect(scan.errors.values.first.map { "\($0)" }?.contains("hci7") == true)
                }
                #expect(running.starts.values.count == 1 && late.starts.values.isEmpty)
            }
        }
    }
}
