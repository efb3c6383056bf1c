import BLEProtocol
import BLESimulator
import Foundation
import Testing

@testable import BLEStreams

@Suite(.timeLimit(.minutes(10))) struct FlightRecorderTests {
    private static let secret: [UInt8] = [0x53, 0x45, 0x43, 0x52, 0x45, 0x54, 0x21, 0x7E]

    private static let description = LocalPeripheral(name: "HIDDENNAME") {
        LocalService(BluetoothUUID(0xA000)) {
            LocalCharacteristic(Bench.readable, [.read, .write, .writeWithoutResponse], value: .stored(secret))
            LocalCharacteristic(Bench.notifying, [.read, .notify], value: .stored(secret))
        }
    }

    /// The file of a recorder behind some work with a peripheral full of secrets.
    private func file(of recorder: FlightRecorder, minutes: Int = 0) async throws -> [UInt8] {
        let path = FileManager.default.temporaryDirectory.appending(path: "flight-\(UUID()).btsnoop").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await Bench.run(description: Self.description) { server, bench in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                try await server.notify(Self.secret, of: Bench.notifying, to: change.central)
            }
        } _: { bench in
            let central = try await Central.open(.radio(bench.centralAdapter).recorded(by: recorder))
            let found = try await central.scan(for: .service(BluetoothUUID(0xA000))).timeout(.seconds(30)).first()
            try await found.peripheral.withLink { link in
                _ = try await link.discover()
                for _ in 0...minutes {
                    try await link.expect(Bench.readable, reads: Self.secret)
                    try await link.write(Self.secret, to: Bench.readable)
                    try await link.write(Self.secret, to: Bench.readable, .withoutResponse)
                    if minutes > 0 { try await bench.time.sleep(for: .seconds(60)) }
                }
                #expect(Array(try await link.notifications(of: Bench.notifying).first()) == Self.secret)
            }
            try await bench.time.holding { try await recorder.write(to: path) }
        }
        return [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    @Test func `values, names and data are not in it, but what was asked and answered is`() async throws {
        let octets = try await file(of: FlightRecorder())
        #expect(!octets.contains(Self.secret))
        #expect(!octets.contains(Array("HIDDENNAME".utf8)))
        let packets = try decoded(octets).compactMap(Packet.init)
        for opcode in [0x0A, 0x0B, 0x12, 0x13, 0x52, 0x1B] as [UInt8] {
            #expect(packets.contains { $0.pdu.first == opcode }, "\(opcode)")
        }
        let read = try #require(packets.first { $0.pdu.first == 0x0B })
        #expect(read.pdu == [0x0B] + [UInt8](repeating: 0, count: Self.secret.count))
    }

    @Test func `with values it has them`() async throws {
        let octets = try await file(of: FlightRecorder(keepsValues: true))
        #expect(octets.contains(Self.secret))
    }

    @Test func `only the last minutes are kept, and they replay, with the services that were discovered before`()
        async throws
    {
        let octets = try await file(of: FlightRecorder(keeping: .seconds(300)), minutes: 60)
        let reads = try decoded(octets).compactMap(Packet.init).filter { $0.pdu.first == 0x0A }
        #expect((4...7).contains(reads.count), "\(reads.count)")
        let recording = try RecordedTraffic(octets)
        let address = try #require(recording.peripherals.first)
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter(address: BluetoothAddress("AA:BB:CC:DD:EE:01/public"))
            try await air.replay(recording) {
                try await Central.open(.radio(phone)).peripheral(address).withLink { link in
                    let services = try await link.discover().services.map(\.uuid)
                    #expect(services.contains(BluetoothUUID(0xA000)))
                    try await link.expect(Bench.readable, reads: [UInt8](repeating: 0, count: Self.secret.count))
                }
            }
        }
    }

    @Test func `its size stays within the limit, whatever comes`() {
        var log = FlightLog(duration: .seconds(3600), limit: 10_000, keepsValues: true)
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        for number in 0..<5000 {
            let address = BluetoothAddress(rawValue: UInt64(number % 400), kind: .public)
            guard let link = log.opened(address, .central, at: time) else { continue }
            // A discovery that never ends.
            for _ in 0..<5 { log.carried([0x11, 6, 1, 0, 9, 0, 0, 0x18], isSent: false, on: link, at: time) }
            log.carried([0x1B, 3, 0] + [UInt8](repeating: 1, count: 200), isSent: false, on: link, at: time)
            if number % 2 == 0 { log.closed(link, status: 0x13, at: time) }
            #expect(log.size <= 10_000)
        }
        #expect(log.structures.count <= FlightLog.peerLimit && log.links.count <= FlightLog.linkLimit)
    }

    @Test func `a new link takes the place of the oldest one, however many short ones there were`() throws {
        var log = FlightLog(duration: .seconds(86_400), limit: 8 << 20, keepsValues: false)
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        let up = log.opened(BluetoothAddress(rawValue: 1, kind: .public), .central, at: time)
        let lasting = try #require(up)
        for number in 0..<UInt64(3 * FlightLog.linkLimit) {
            let opened = log.opened(BluetoothAddress(rawValue: 100 + number, kind: .public), .central, at: time)
            log.closed(try #require(opened, "link \(number)"), status: 0x3E, at: time)
        }
        #expect(log.links.count <= FlightLog.linkLimit)
        #expect(log.links[lasting]?.isWhole == false, "one that is up stays")
    }

    @Test func `what was lost is counted in every record behind it`() throws {
        var log = FlightLog(duration: .seconds(300), limit: 10_000, keepsValues: false)
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        let opened = log.opened(BluetoothAddress(rawValue: 1, kind: .public), .central, at: time)
        let link = try #require(opened)
        log.carried([0x1B, 3, 0, 1], isSent: false, on: link, at: time)
        log.lost(12, on: link, at: time)
        log.reportsLost(3, at: time)
        log.carried([0x1B, 3, 0, 2], isSent: false, on: link, at: time)
        let adapter = AdapterInfo(name: "hci0", address: nil, state: .poweredOn)
        let records = try decoded(log.file(adapter: adapter, reason: "test", at: time))
        #expect(records.drop { $0.opcode != .dataReceived }.map(\.drops) == [0, 12, 15, 15])
    }

    @Test func `a PDU that the radio had no room for is in it once, whatever was recorded meanwhile`() throws {
        var log = FlightLog(duration: .seconds(300), limit: 10_000, keepsValues: false)
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        let opened = log.opened(BluetoothAddress(rawValue: 1, kind: .public), .central, at: time)
        let link = try #require(opened)
        for isTaken in [false, true] {
            log.carried([0x0A, 3, 0], isSent: true, on: link, at: time)
            log.carried([0x1B, 9, 0], isSent: false, on: link, at: time)
            if !isTaken { log.notTaken(on: link) }
        }
        let adapter = AdapterInfo(name: "hci0", address: nil, state: .poweredOn)
        let packets = try decoded(log.file(adapter: adapter, reason: "test", at: time)).compactMap(Packet.init)
        #expect(packets.map { $0.pdu.first } == [0x1B, 0x0A, 0x1B])
    }

    /// A folder that is gone afterwards.
    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "flights-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    /// Runs a session that fails.
    private func failSession(
        recordedBy recorder: FlightRecorder,
        before: @escaping @Sendable (Bench) throws -> Void = { _ in }
    ) async throws {
        try await Bench.run { bench in
            try before(bench)
            let central = try await Central.open(.radio(bench.centralAdapter).recorded(by: recorder))
            let plan = Session.Plan(bench.peripheral).subscribing(to: BluetoothUUID(0xDEAD))
            try await central.withSession(plan) { session in
                _ = await bleError { for try await _ in session.notifications(of: BluetoothUUID(0xDEAD)) {} }
                guard case .failed = session.state else {
                    Issue.record("\(session.state)")
                    return
                }
            }
        }
    }

    @Test func `a session that fails writes a file by itself`() async throws {
        try await withFolder { folder in
            let recorder = FlightRecorder(folder: folder.path)
            let (paths, feed) = AsyncStream.makeStream(of: String.self)
            recorder.whenWritten { feed.yield($0) }
            try await failSession(recordedBy: recorder)
            var written = paths.makeAsyncIterator()
            let path = try #require(await written.next())
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            let name = try #require(files.first)
            #expect(files.count == 1 && name.hasPrefix("2024-01-01T00:00:0") && name.hasSuffix(".btsnoop"), "\(files)")
            #expect(try records(of: path).compactMap(Packet.init).count > 4)
        }
    }

    @Test func `a file of an earlier run, at the same time by a clock that began anew, stays`() async throws {
        try await withFolder { folder in
            var all: [String] = []
            for _ in 0..<2 {
                let recorder = FlightRecorder(folder: folder.path)
                let (paths, feed) = AsyncStream.makeStream(of: String.self)
                recorder.whenWritten { feed.yield($0) }
                try await failSession(recordedBy: recorder)
                var written = paths.makeAsyncIterator()
                all.append(try #require(await written.next()))
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(Set(all).count == 2 && files.count == 2, "\(files)")
            for path in all { #expect(try records(of: path).compactMap(Packet.init).count > 4) }
        }
    }

    @Test func `the program is warned of a file that can't be made`() async throws {
        let (warnings, feed) = AsyncStream.makeStream(of: BLEError.self)
        let recorder = FlightRecorder(folder: "/no/such/folder", warning: { feed.yield($0) })
        try await failSession(recordedBy: recorder)
        var told = warnings.makeAsyncIterator()
        let warning = try #require(await told.next())
        #expect(warning.code == .systemFailure && warning.systemError == ENOENT)
        #expect(warning.object.hasPrefix("to /no/such/folder/2024-01-01T00:00:0"), "\(warning)")
        #expect(warning.remedy.contains("Check that the folder exists"))
    }

    @Test func `the program is warned of a file that can't be written`() async throws {
        try await withFolder { folder in
            let (warnings, feed) = AsyncStream.makeStream(of: BLEError.self)
            let recorder = FlightRecorder(folder: folder.path, warning: { feed.yield($0) })
            recorder.whenWritten { Issue.record("\($0) is taken for written") }
            try await failSession(recordedBy: recorder) { bench in
                // Each file that the first minute may bring is on a full disk.
                let device = "\(bench.peripheralAdapter.address)".filter { $0 != ":" }
                for second in 0..<60 {
                    let name = "2024-01-01T00:00:\(second < 10 ? "0" : "")\(second)Z-\(device).btsnoop"
                    try FileManager.default.createSymbolicLink(
                        atPath: folder.appending(path: name).path,
                        withDestinationPath: "/dev/full"
                    )
                }
            }
            var told = warnings.makeAsyncIterator()
            let warning = try #require(await told.next())
            #expect(warning.code == .systemFailure && warning.systemError == ENOSPC, "\(warning)")
        }
    }

    @Test func `files are written again once there is room, however many could not be, and the program is warned once`()
        async throws
    {
        try await withFolder { folder in
            let place = folder.appending(path: "later")
            let warnings = Recorder<BLEError>()
            let (told, feed) = AsyncStream.makeStream(of: BLEError.self)
            let recorder = FlightRecorder(folder: place.path) { error in
                warnings.add(error)
                feed.yield(error)
            }
            try await Bench.run { bench in
                let central = try await Central.open(.radio(bench.centralAdapter).recorded(by: recorder))
                let error = BLEError(.notFound, operation: "session", cause: "no such service")
                for number in 0...40 {
                    if number == 40 {
                        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
                    }
                    recorder.handle(Central.Event(.session(.failed(error)), at: bench.time.wallTime))
                    try await bench.time.sleep(for: .seconds(10))
                }
                withExtendedLifetime(central) {}
            }
            // It is made at once, and written later.
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).count == 1)
            var first = told.makeAsyncIterator()
            let warning = try #require(await first.next())
            #expect(warning.systemError == ENOENT && warnings.all.count == 1, "\(warnings.all)")
        }
    }
}
