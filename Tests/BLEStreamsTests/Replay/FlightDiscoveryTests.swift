import BLEProtocol
import Testing

@testable import BLEStreams

/// What a flight recorder's file has of discoveries whose links began before it.
@Suite(.timeLimit(.minutes(10))) struct FlightDiscoveryTests {
    private static let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
    private static let adapter = AdapterInfo(name: "hci0", address: nil, state: .poweredOn)
    private static let sensor = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    private static let lamp = BluetoothAddress(rawValue: 0x00AA_0100_0000, kind: .public)

    /// The request for the primary services, and its answer: one service, handles 1 to 9.
    private static let request: [UInt8] = [0x10, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x28]
    private static let answer: [UInt8] = [0x11, 6, 0x01, 0x00, 0x09, 0x00, 0x00, 0xA0]
    private static let longAnswer: [UInt8] = [0x11, 6] + [UInt8](repeating: 1, count: 498)

    /// Keeps discoveries alone: everything else leaves the ring at once.
    private static var empty: FlightLog { FlightLog(duration: .seconds(300), limit: 0, keepsValues: false) }

    private func open(_ log: inout FlightLog, _ peer: BluetoothAddress, _ role: ATTCapture.Role) throws -> UInt16 {
        let link = log.opened(peer, role, at: Self.time)
        return try #require(link)
    }

    /// Opens a link on which the central discovers the services.
    ///
    /// - Returns: the link.
    @discardableResult
    private func discover(
        _ log: inout FlightLog,
        _ peer: BluetoothAddress,
        _ answers: [[UInt8]],
        to request: [UInt8] = FlightDiscoveryTests.request,
        as role: ATTCapture.Role = .central
    ) throws -> UInt16 {
        let link = try open(&log, peer, role)
        log.carried(request, isSent: role == .central, on: link, at: Self.time)
        for answer in answers { log.carried(answer, isSent: role == .peripheral, on: link, at: Self.time) }
        return link
    }

    /// The central reads a value: its discovery is over.
    private func read(_ log: inout FlightLog, on link: UInt16) {
        log.carried([0x0A, 0x03, 0x00], isSent: true, on: link, at: Self.time)
    }

    private func file(of log: FlightLog) -> [UInt8] { log.file(adapter: Self.adapter, reason: "test", at: Self.time) }

    /// What a replay of the file answers to the request for the primary services.
    private func services(of peer: BluetoothAddress, in octets: [UInt8]) throws -> [UInt8]? {
        let traffic = try #require(CaptureReader.traffic(in: octets))
        let device = try #require(RecordedDevice.devices(of: traffic).first { $0.address == peer })
        var server = RecordedServer(device)
        server.linkBegan(now: .zero)
        return server.received(Self.request, now: .zero)
    }

    @Test func `a peer of 2000 links with a long discovery fits in a file`() throws {
        var log = Self.empty
        // 32 KiB.
        let answers = [[UInt8]](repeating: Self.longAnswer, count: 65)
        try discover(&log, Self.sensor, answers)
        for _ in 1..<2000 { _ = try open(&log, Self.sensor, .central) }
        let octets = file(of: log)
        #expect(octets.count < CaptureFile.room)
        let found = try decoded(octets).compactMap(Packet.init).count { $0.pdu == Self.longAnswer }
        #expect(found >= answers.count)
    }

    @Test func `the many links of a peer leave room for another one's discovery`() throws {
        var log = Self.empty
        try discover(&log, Self.sensor, [Self.answer] + [[UInt8]](repeating: Self.longAnswer, count: 65))
        for _ in 1..<100 { _ = try open(&log, Self.sensor, .central) }
        try discover(&log, Self.lamp, [Self.answer])
        let octets = file(of: log)
        #expect(octets.count < 3 << 20)
        #expect(try services(of: Self.lamp, in: octets) == Self.answer)
    }

    @Test func `each link begins with the discovery if there is room`() throws {
        var log = Self.empty
        try discover(&log, Self.sensor, [Self.answer])
        for _ in 1..<5 { _ = try open(&log, Self.sensor, .central) }
        let found = try decoded(file(of: log)).compactMap(Packet.init).count { $0.pdu == Self.answer }
        #expect(found == 5)
    }

    @Test func `a peer that is a central too keeps the services that it has`() throws {
        var log = Self.empty
        try discover(&log, Self.sensor, [Self.answer])
        // The services of this side, to the peer.
        let own: [UInt8] = [0x11, 6, 0x01, 0x00, 0x05, 0x00, 0x00, 0x18]
        try discover(&log, Self.sensor, [own], as: .peripheral)
        #expect(try services(of: Self.sensor, in: file(of: log)) == Self.answer)
    }

    @Test func `discoveries that their links' ends have cut off leave the whole one before them`() throws {
        var log = Self.empty
        let link = try discover(&log, Self.sensor, [Self.answer])
        read(&log, on: link)
        for _ in 0..<3 { try discover(&log, Self.sensor, []) }
        #expect(try services(of: Self.sensor, in: file(of: log)) == Self.answer)
    }

    /// The long type of an included service is read from its declaration, amid the discovery.
    @Test func `one that is cut off behind the read of an included service leaves the whole one, too`() throws {
        var log = Self.empty
        let both = Self.answer + [0x0A, 0x00, 0x0C, 0x00, 0x01, 0xA0]
        read(&log, on: try discover(&log, Self.sensor, [both]))
        let next = try discover(&log, Self.sensor, [Self.answer])
        read(&log, on: next)
        log.carried([0x10, 0x0A, 0x00, 0xFF, 0xFF, 0x00, 0x28], isSent: true, on: next, at: Self.time)
        #expect(try services(of: Self.sensor, in: file(of: log)) == both)
    }

    @Test func `a discovery of a chosen service leaves that of all services`() throws {
        var log = Self.empty
        // The service of the answer, and a second one.
        let both = Self.answer + [0x0A, 0x00, 0x0C, 0x00, 0x01, 0xA0]
        let link = try discover(&log, Self.sensor, [both])
        read(&log, on: link)
        let request: [UInt8] = [0x06, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x28, 0x00, 0xA0]
        for _ in 0..<2 {
            let next = try discover(&log, Self.sensor, [[0x07, 0x01, 0x00, 0x09, 0x00]], to: request)
            read(&log, on: next)
        }
        #expect(try services(of: Self.sensor, in: file(of: log)) == both)
    }

    @Test func `a discovery of the same chosen service takes the place of the one before it`() throws {
        var log = Self.empty
        let request: [UInt8] = [0x06, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x28, 0x00, 0xA0]
        // The peripheral had it twice, and has it once now.
        let both: [UInt8] = [0x07, 0x01, 0x00, 0x09, 0x00, 0x0A, 0x00, 0x0C, 0x00]
        let first = try discover(&log, Self.sensor, [both], to: request)
        read(&log, on: first)
        let next = try discover(&log, Self.sensor, [[0x07, 0x01, 0x00, 0x09, 0x00]], to: request)
        read(&log, on: next)
        #expect(try services(of: Self.sensor, in: file(of: log)) == Self.answer)
    }

    @Test func `a whole discovery takes the place of the one before it, of which services are gone`() throws {
        var log = Self.empty
        let link = try discover(&log, Self.sensor, [Self.answer + [0x0A, 0x00, 0x0C, 0x00, 0x01, 0xA0]])
        read(&log, on: link)
        let next = try discover(&log, Self.sensor, [Self.answer])
        read(&log, on: next)
        #expect(try services(of: Self.sensor, in: file(of: log)) == Self.answer)
    }

    @Test func `a discovery without end takes no more of a file than its limit`() throws {
        var log = Self.empty
        try discover(&log, Self.sensor, [[UInt8]](repeating: Self.answer, count: 5000))
        let octets = file(of: log)
        #expect(octets.count > FlightLog.structureLimit / 2)
        // The beginning of the file and of the link.
        #expect(octets.count < FlightLog.structureLimit + 1024)
        #expect(try services(of: Self.sensor, in: octets) == Self.answer)
    }
}
