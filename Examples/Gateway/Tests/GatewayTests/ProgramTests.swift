import Foundation
import Spool
import TestBroker
import Testing

@testable import Gateway

/// The program under test: it is built beside the tests.
let gatewayProgram: String = {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("ble-gateway").path
}()

@Suite(
    "The program",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(10))
)
struct ProgramTests {
    /// How often the program is killed; `GATEWAY_KILLS` sets it.
    static let kills = ProcessInfo.processInfo.environment["GATEWAY_KILLS"].flatMap(Int.init) ?? 5

    private func configuration(_ broker: Broker, _ folder: String, more: String = "") -> String {
        """
        { "broker": { "host": "127.0.0.1", "port": \(broker.port) }, "prefix": "test",
          "spool": { "folder": "\(folder)/spool" }\(more) }
        """
    }

    private let counter = #"{ "name": "Counter", "characteristics": [{ "uuid": "FFF1" }] }"#
    private let thermometer = #"{ "name": "Thermometer", "characteristics": [{ "uuid": "2A6E" }] }"#

    private func start(_ folder: String, _ interval: Int = 2) throws -> RunningProgram {
        try RunningProgram(gatewayProgram, ["--simulated", "--interval", "\(interval)", "\(folder)/gateway.json"])
    }

    @Test("loses nothing when it is killed at random moments, and marks what it sends twice")
    func killed() async throws {
        let (broker, folder) = (try await Broker(), try temporaryFolder("gateway"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let text = configuration(broker, folder, more: ", \"peripherals\": [\(counter)]")
        try text.write(toFile: "\(folder)/gateway.json", atomically: true, encoding: .utf8)
        let collector = try await Collector(on: broker, topic: "test/#")
        var (random, arrived) = (SystemSeed(7), Arrivals())
        for _ in 0..<Self.kills {
            let gateway = try start(folder)
            let goal = arrived.values + Int.random(in: 1...300, using: &random)
            await arrived.take(from: collector) { $0.values >= goal }
            await gateway.end(SIGKILL)
        }
        let gateway = try start(folder)
        let goal = arrived.values + 300
        await arrived.take(from: collector) { $0.values >= goal }
        // Those may be values of the one before, and this one may not handle signals yet.
        try await gateway.wait { $0.contains("broker: connected") }
        #expect(await gateway.end(SIGTERM) == 0)
        // Not the next "offline": that may be about one that was killed, with much still to come behind it.
        let words = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-V", "5", "-q", "1", "-t", "test/mark", "-m", "end"]
        #expect(try await RunningProgram("/usr/bin/mosquitto_pub", words).waitForEnd() == 0)
        await arrived.take(from: collector) { $0.hasMark }
        let spool = try Spool(SpoolSettings(folder: "\(folder)/spool"))
        let counts = spool.counts
        var waiting: Set<UInt64> = []
        while let record = try spool.next() { waiting.insert(record.sequence) }
        #expect(counts.appended == counts.acknowledged + counts.spooled + counts.dropped)
        #expect(counts.dropped == 0)
        #expect(arrived.sequences.union(waiting) == Set(1...UInt64(counts.appended)))
        #expect(arrived.unmarked == 0, "something came twice and was not marked")
        #expect(arrived.wrong == 0)
    }

    @Test("says offline at the end, and online before")
    func ending() async throws {
        let (broker, folder) = (try await Broker(), try temporaryFolder("gateway"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try configuration(broker, folder).write(toFile: "\(folder)/gateway.json", atomically: true, encoding: .utf8)
        let collector = try await Collector(on: broker, topic: "test/#")
        let gateway = try start(folder)
        var arrived = Arrivals()
        await arrived.take(from: collector) { $0.status == "online" }
        #expect(await gateway.end(SIGTERM) == 0)
        await arrived.take(from: collector) { $0.status == "offline" }
    }

    @Test("goes on when its log can't be written", arguments: ["2>/dev/full", "2>&-"])
    func log(_ redirection: String) async throws { try await runsAndEnds(redirection) }

    /// Runs the gateway with its log redirected, until it is online, and ends it.
    private func runsAndEnds(_ redirection: String) async throws {
        let (broker, folder) = (try await Broker(), try temporaryFolder("gateway"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try configuration(broker, folder).write(toFile: "\(folder)/gateway.json", atomically: true, encoding: .utf8)
        let collector = try await Collector(on: broker, topic: "test/#")
        let line = "exec \"$0\" --simulated \"$1\" \(redirection)"
        let gateway = try RunningProgram("/bin/sh", ["-c", line, gatewayProgram, "\(folder)/gateway.json"])
        var arrived = Arrivals()
        await arrived.take(from: collector) { $0.status == "online" }
        #expect(await gateway.end(SIGTERM) == 0)
        await arrived.take(from: collector) { $0.status == "offline" }
    }

    @Test("goes on when nobody reads its log any more, and ends in order")
    func stuckLog() async throws {
        let log = Pipe()
        let writing = log.fileHandleForWriting.fileDescriptor
        // It is full already.
        _ = fcntl(writing, F_SETFL, O_NONBLOCK)
        while write(writing, "x", 1) == 1 {}
        _ = fcntl(writing, F_SETFL, 0)
        try await runsAndEnds("2>/proc/\(getpid())/fd/\(writing)")
        withExtendedLifetime(log) {}
    }

    @Test("applies a configuration at SIGHUP, and keeps the old one if the new one is wrong")
    func reloading() async throws {
        let (broker, folder) = (try await Broker(), try temporaryFolder("gateway"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func write(_ more: String) throws {
            try configuration(broker, folder, more: more)
                .write(toFile: "\(folder)/gateway.json", atomically: true, encoding: .utf8)
        }
        try write(", \"peripherals\": [\(counter)]")
        let collector = try await Collector(on: broker, topic: "test/value/#")
        let gateway = try start(folder, 50)
        while let message = await collector.next(), message.topic != "test/value/Counter/FFF1" {}
        try write(", \"peripherals\": [\(counter), { \"nme\": \"Thermometer\" }]")
        gateway.signal(SIGHUP)
        let line = try await gateway.wait { $0.contains("configuration:") }
        #expect(line.contains("peripherals[1].address"))
        #expect(line.contains("The old configuration stays in force."))
        try write(", \"peripherals\": [\(thermometer)], \"images\": \"\(folder)/nowhere\"")
        gateway.signal(SIGHUP)
        let missing = try await gateway.wait { $0.contains("nowhere") }
        #expect(missing.contains("configuration: images: "))
        #expect(missing.contains("The old configuration stays in force."))
        while let message = await collector.next(), message.topic != "test/value/Counter/FFF1" {}
        try write(", \"peripherals\": [\(thermometer)]")
        gateway.signal(SIGHUP)
        try await gateway.wait { $0.contains("configuration: applied") }
        while let message = await collector.next(), message.topic != "test/value/Thermometer/2A6E" {}
        #expect(await gateway.end(SIGTERM) == 0)
    }

    @Test("tells alone of a pairing with a simulated sensor that fails, and names no call of the library")
    func simulatedPairing() async throws {
        let (broker, folder) = (try await Broker(), try temporaryFolder("gateway"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try "624813".write(toFile: "\(folder)/passkey", atomically: false, encoding: .utf8)
        #expect(chmod("\(folder)/passkey", 0o600) == 0)
        let pairing = #""pairing": { "passkeyFile": "\#(folder)/passkey" }"#
        let paired = #"{ "name": "Thermometer", "characteristics": [{ "uuid": "2A6E" }], \#(pairing) }"#
        try configuration(broker, folder, more: ", \"peripherals\": [\(paired)]")
            .write(toFile: "\(folder)/gateway.json", atomically: true, encoding: .utf8)
        let gateway = try start(folder, 50)
        try await gateway.wait { $0.hasPrefix("Thermometer: ") && $0.contains("pair") }
        #expect(await gateway.end(SIGTERM) == 0)
        let lines = gateway.lines
        #expect(!lines.contains { $0.contains("LocalPeripheral") || $0.hasPrefix("blestreams: ") }, "\(lines)")
    }

    @Test("refuses a wrong file, and names the field")
    func checking() async throws {
        let folder = try temporaryFolder("gateway")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try #"{ "spol": {} }"#.write(toFile: "\(folder)/gateway.json", atomically: true, encoding: .utf8)
        let gateway = try RunningProgram(gatewayProgram, ["--check", "\(folder)/gateway.json"])
        #expect(await gateway.waitForEnd() == 1)
        try await gateway.wait { $0.contains("configuration: spool: it is missing") }
    }

    @Test("says that others may read the password, and takes the file all the same")
    func exposedPassword() async throws {
        let folder = try temporaryFolder("gateway")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (file, password) = ("\(folder)/gateway.json", "\(folder)/password")
        try "secret".write(toFile: password, atomically: false, encoding: .utf8)
        #expect(chmod(password, 0o444) == 0)
        let broker = #"{ "user": "u", "passwordFile": "\#(password)" }"#
        try #"{ "broker": \#(broker), "spool": { "folder": "\#(folder)/spool" } }"#
            .write(toFile: file, atomically: true, encoding: .utf8)
        let gateway = try RunningProgram(gatewayProgram, ["--check", file])
        #expect(await gateway.waitForEnd() == 0)
        try await gateway.wait { $0.contains("configuration: broker.passwordFile: \(password) may be used by") }
        try await gateway.wait { $0.contains("is valid") }
    }

    @Test("checks that the files it names can be read, before it is too late")
    func checkingFiles() async throws {
        let folder = try temporaryFolder("gateway")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = "\(folder)/gateway.json"
        let text = """
            { "broker": { "tls": { "authorities": "\(folder)/ca.pem" } }, "spool": { "folder": "\(folder)/spool" },
            "images": "\(folder)/images" }
            """
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        func check(_ status: Int32, _ line: String) async throws {
            let gateway = try RunningProgram(gatewayProgram, ["--check", file])
            #expect(await gateway.waitForEnd() == status)
            try await gateway.wait { $0.contains(line) }
        }
        try await check(1, "broker.tls.authorities: \(folder)/ca.pem can't be read: No such file or directory")
        try "".write(toFile: "\(folder)/ca.pem", atomically: true, encoding: .utf8)
        try "".write(toFile: "\(folder)/images", atomically: true, encoding: .utf8)
        try await check(1, "images: \(folder)/images can't be read: Not a directory")
        try FileManager.default.removeItem(atPath: "\(folder)/images")
        try FileManager.default.createDirectory(atPath: "\(folder)/images", withIntermediateDirectories: false)
        try await check(0, "is valid")
    }
}

/// Random numbers from a seed.
struct SystemSeed: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 33) ^ (state << 17)
    }
}
