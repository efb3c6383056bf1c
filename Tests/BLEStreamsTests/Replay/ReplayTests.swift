import BLEProtocol
import BLESimulator
import BLEStreams
import Foundation
import Testing

/// What a program gets from a recording is what it got when it was recorded.
@Suite(.timeLimit(.minutes(10))) struct ReplayTests {
    /// What one run of the program saw, with times since its beginning.
    struct Seen: Equatable, Sendable {
        var advertisement: [UInt8] = []
        var rssi: Int?
        var services: [BluetoothUUID] = []
        var reads: [[UInt8]] = []
        var long: [UInt8] = []
        var values: [[UInt8]] = []
        var seconds: [Int] = []
        var error: BLEError.Code?
    }

    /// Finds a peripheral, and asks of it what the bench has.
    private static func program(_ central: Central, _ time: VirtualTime) async throws -> Seen {
        var seen = Seen()
        let found = try await central.scan(for: .service(BluetoothUUID(0xA000))).timeout(.seconds(30)).first()
        seen.advertisement = found.advertisement.bytes
        seen.rssi = found.rssi.map { Int($0) }
        try await found.peripheral.withLink { link in
            seen.services = try await link.discover().services.map(\.uuid)
            for _ in 0..<3 {
                seen.reads.append(Array(try await link.read(Bench.readable)))
                try await link.write([UInt8(seen.reads.count)], to: Bench.readable)
            }
            seen.long = Array(try await link.read(Bench.long))
            do {
                try await link.write([1], to: Bench.dynamic)
            } catch let error as BLEError {
                seen.error = error.code
            }
            let begin = time.now
            for try await value in link.notifications(of: Bench.notifying).prefix(5) {
                seen.values.append(Array(value))
                seen.seconds.append(Int((time.now - begin).components.seconds))
            }
        }
        return seen
    }

    /// A file of one run of the program, and what that saw.
    private static func recording(
        _ wrap: @escaping @Sendable (AdapterChoice, TrafficCapture) -> AdapterChoice = { $0.captured(in: $1) }
    ) async throws -> (octets: [UInt8], seen: Seen) {
        let path = FileManager.default.temporaryDirectory.appending(path: "replay-\(UUID()).btsnoop").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let capture = try TrafficCapture(file: path)
        let results = Recorder<Seen>()
        try await Bench.run(serve: serve) { bench in
            let central = try await Central.open(wrap(.radio(bench.centralAdapter), capture))
            results.add(try await program(central, bench.time))
        }
        try await capture.close()
        return ([UInt8](try Data(contentsOf: URL(filePath: path))), try #require(results.all.first))
    }

    /// Notifies each subscriber of a number in each second.
    static let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
            do {
                for number in 0..<20 as Range<UInt32> {
                    try await bench.time.sleep(for: .seconds(1))
                    try await server.notify(number.octets, of: Bench.notifying, to: change.central)
                }
            } catch let error as BLEError where error.code == .disconnected || error.code == .notSupported {
                // The central has what it wanted, or the link is lost.
            }
        }
    }

    private static func replayed(_ octets: [UInt8]) async throws -> Seen {
        try await VirtualTime.run(seed: 5) { time in
            let air = SimulatedAir(time)
            let phone = air.adapter(address: BluetoothAddress("AA:BB:CC:DD:EE:01/public"))
            return try await air.replay(RecordedTraffic(octets)) {
                try await program(Central.open(.radio(phone)), time)
            }
        }
    }

    @Test func `the recorded program gets on the replay what it got on the air`() async throws {
        let (octets, seen) = try await Self.recording()
        #expect(seen.reads == [[1, 2, 3], [1], [2]] && seen.values.count == 5 && seen.long == Bench.longValue)
        let again = try await Self.replayed(octets)
        #expect(again == seen)
    }

    @Test func `recorded advertisements aren't received while the scanning adapter is out of range`() async throws {
        let (octets, _) = try await Self.recording()
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter()
            let outage = air.faults.add(.outOfRange(), on: phone)
            try await air.replay(RecordedTraffic(octets)) {
                let scan = try await Central.open(.radio(phone)).scan(duplicates: true)
                let error = await bleError { _ = try await scan.timeout(.seconds(60)).first() }
                #expect(error?.code == .timedOut)
                air.faults.remove(outage)
                _ = try await scan.timeout(.seconds(60)).first()
            }
        }
    }

    /// As Android's log has it: a type in front of each packet, no adapter, packets cut into fragments.
    @Test func `the same in the format of Android, in fragments, replays alike`() async throws {
        let (octets, seen) = try await Self.recording()
        let again = try await Self.replayed(try Self.android(octets))
        #expect(again == seen)
    }

    static func android(_ octets: [UInt8]) throws -> [UInt8] {
        var file = BTSnoopHeader(datalink: .hciUART).encoded
        for record in try decoded(octets) {
            guard record.opcode == .dataSent || record.opcode == .dataReceived else {
                file +=
                    BTSnoopRecord(hciUART: record.opcode, time: record.time, data: Array(record.data))?.encoded ?? []
                continue
            }
            // Of 27 octets, as controllers have it: the first says so, the others continue it.
            let handle =
                UInt16(record.data[record.data.startIndex]) | UInt16(record.data[record.data.startIndex + 1]) << 8
            var rest = Array(record.data.dropFirst(4))
            var isFirst = true
            while !rest.isEmpty || isFirst {
                let part = rest.prefix(27)
                rest.removeFirst(part.count)
                let head = isFirst ? handle : handle & 0xFFF | 0x1000
                let packet = [UInt8(truncatingIfNeeded: head), UInt8(head >> 8), UInt8(part.count), 0] + part
                file += BTSnoopRecord(hciUART: record.opcode, time: record.time, data: packet)?.encoded ?? []
                isFirst = false
            }
        }
        return file
    }

    @Test func `advertisements come at their times, as strong as they were`() async throws {
        let time = ReceptionTime(sinceEpoch: .seconds(1_000_000), source: .kernel)
        func later(_ seconds: Int) -> ReceptionTime {
            ReceptionTime(sinceEpoch: time.sinceEpoch + .seconds(seconds), source: .kernel)
        }
        let capture = ATTCapture(index: 0)
        let address = try #require(BluetoothAddress("C4:F2:17:1A:1D:BB/random"))
        var octets = capture.opening(adapter: nil, name: "hci0", time: time)
        for (second, rssi) in [(0, -40), (3, -50), (7, -60)] as [(Int, Int8)] {
            let data: [UInt8] = [2, 0x0A, UInt8(second)]
            octets += capture.advertised(by: address, isConnectable: false, rssi: rssi, data: data, time: later(second))
        }
        let recording = try RecordedTraffic(octets)
        #expect(recording.advertisementCount == 3 && recording.duration == .seconds(7) && recording.leftOut == 0)
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let central = try await Central.open(.radio(air.adapter()))
            let heard = try await air.replay(recording) {
                try await central.scan(duplicates: true).timeout(.seconds(20)).prefix(3).collect()
            }
            #expect(heard.map(\.rssi) == [-40, -50, -60])
            let times = heard.map { $0.time.sinceEpoch - VirtualTime.beginning.sinceEpoch }
            #expect(times == [.zero, .seconds(3), .seconds(7)])
            #expect(heard.allSatisfy { $0.address == address && !$0.isConnectable })
        }
    }

    /// The first response was lost on air; behind it, the controller reported the device's responses alone.
    @Test(arguments: [false, true])
    func `a program finds a device by the name in a scan response that came alone`(_ all: Bool) async throws {
        func report(_ type: UInt8, _ data: [UInt8], at second: Int) -> [UInt8] {
            let head: [UInt8] = [0x3E, UInt8(12 + data.count), 0x02, 0x01, type, 0x01, 1, 0, 0, 0, 0, 0xC0]
            let event = head + [UInt8(data.count)] + data + [0xD0]
            return BTSnoopRecord(opcode: .event, index: 0, time: .seconds(second), data: event).encoded
        }
        let advertisement = report(0x00, [2, 0x01, 6], at: 0)
        let response = report(0x04, [3, 0x09, 0x41, 0x42], at: 1)
        let recording = try RecordedTraffic(BTSnoopHeader(datalink: .linuxMonitor).encoded + advertisement + response)
        #expect(recording.advertisementCount == 2 && recording.leftOut == 0)
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let central = try await Central.open(.radio(air.adapter()))
            let found = try await air.replay(recording) {
                try await central.scan(for: .name("AB"), duplicates: all ? .all : .ignored).timeout(.seconds(5)).first()
            }
            #expect(found.isConnectable && found.rssi == -48)
        }
    }

    @Test func `a recording whose address the air has is refused, and one can be replayed again`() async throws {
        let (octets, _) = try await Self.recording()
        let recording = try RecordedTraffic(octets)
        let peripheral = try #require(recording.peripherals.first)
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            for _ in 0..<2 {
                try await air.replay(recording) {
                    let central = try await Central.open(.radio(air.adapter()))
                    try await central.peripheral(peripheral).withLink {
                        try await $0.expect(Bench.readable, reads: [1, 2, 3])
                    }
                }
            }
        }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            _ = air.adapter(address: peripheral)
            let error = await bleError { try await air.replay(recording) {} }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func `what is no recording is refused with what would be one`() async throws {
        let error = await bleError { _ = try RecordedTraffic([1, 2, 3]) }
        #expect(error?.code == .invalidArgument && error?.remedy.contains("btmon -w") == true)
        let missing = await bleError { _ = try RecordedTraffic(file: "/nonexistent/file.btsnoop") }
        #expect(missing?.code == .systemFailure && missing?.systemError == ENOENT)
    }

    /// Bits and ends changed anywhere: the reader, the script and the server take it, and the central comes back.
    @Test func `a damaged recording is read as far as it goes, and never traps`() async throws {
        let (octets, _) = try await Self.recording()
        var random = Chance(seed: 11)
        var servers = 0
        for round in 0..<300 {
            var damaged = octets
            for _ in 0..<random.below(8) {
                damaged[16 + random.below(damaged.count - 16)] = UInt8(random.below(256))
            }
            if round % 3 == 0 { damaged.removeLast(random.below(damaged.count - 16)) }
            guard let recording = try? RecordedTraffic(damaged) else { continue }
            for device in RecordedDevice.devices(of: CaptureReader.traffic(in: damaged) ?? CapturedTraffic()) {
                var server = RecordedServer(device)
                servers += 1
                server.linkBegan(now: .zero)
                for _ in 0..<50 {
                    let request = (0..<1 + random.below(24)).map { _ in UInt8(random.below(256)) }
                    let answer = server.received(request, now: .zero)
                    #expect((answer?.count ?? 0) <= 517)
                }
                #expect(server.poll(now: .seconds(1_000_000)).allSatisfy { $0.count <= 517 })
            }
            guard round % 20 == 0, let address = recording.peripherals.first else { continue }
            try await VirtualTime.run(seed: UInt64(round)) { time in
                let air = SimulatedAir(time)
                let phone = air.adapter(address: BluetoothAddress("AA:BB:CC:DD:EE:01/public"))
                try await air.replay(recording) {
                    let central = try await Central.open(.radio(phone))
                    _ = try? await central.peripheral(address).withLink(timeout: .seconds(5)) { link in
                        try await link.read(Bench.readable)
                    }
                }
            }
        }
        // In some two dozen of the rounds nothing is damaged.
        #expect(servers > 10, "hardly any recording was read")
    }
}
