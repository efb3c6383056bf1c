import Foundation
import Sparkplug
import TestBroker
import Testing

@testable import Gateway

@Suite(
    "Hosts that speak Sparkplug B",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(10))
)
struct SparkplugTests {
    private static let counter = #"{ "name": "Counter", "characteristics": [{ "uuid": "FFF1" }] }"#
    private static let thermometer = #"{ "name": "Thermometer", "characteristics": [{ "uuid": "2A6E" }] }"#

    /// Runs the program with a configuration while the closure runs, which is given what starts it.
    private func with(
        _ more: String,
        _ peripheral: String,
        _ body: (Broker, SparkplugHost, _ start: () throws -> RunningProgram) async throws -> Void
    ) async throws {
        let (broker, folder) = (try await Broker(), try temporaryFolder("sparkplug"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let text = """
            { "broker": { "host": "127.0.0.1", "port": \(broker.port), "clientID": "hall" },
              "spool": { "folder": "\(folder)/spool" }, "peripherals": [\(peripheral)],
              "sparkplug": { "group": "plant"\(more) } }
            """
        try text.write(toFile: "\(folder)/gateway.json", atomically: true, encoding: .utf8)
        let host = try await SparkplugHost(on: broker)
        try await body(broker, host) {
            try RunningProgram(gatewayProgram, ["--simulated", "--interval", "5", "\(folder)/gateway.json"])
        }
        #expect(host.complaints == [])
    }

    private func publish(_ words: [String], to broker: Broker) async throws {
        let words = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-V", "5", "-q", "1"] + words
        #expect(try await RunningProgram("/usr/bin/mosquitto_pub", words).waitForEnd() == 0)
    }

    private func births(_ event: SparkplugHost.Event?) -> UInt64? {
        guard case .unsigned(let number) = event?.metrics.first(where: { $0.name == "bdSeq" })?.value else {
            return nil
        }
        return number
    }

    @Test("see births before values, deaths when the gateway ends or is killed, and its numbers grow over restarts")
    func lives() async throws {
        try await with("", Self.thermometer) { _, host, start in
            let first = try start()
            let birth = births(await host.next("NBIRTH"))
            #expect(birth == 0)
            var value: SparkplugMetric?
            while value == nil, let event = await host.next("DDATA") { value = event.metrics.first }
            #expect(value?.name == "Temperature")
            #expect(value?.value.type == .double)
            #expect(host.devices["Thermometer"]?["Temperature"]?.unit == "°C")
            await first.end(SIGKILL)
            #expect(births(await host.next("NDEATH")) == 0)
            let second = try start()
            #expect(births(await host.next("NBIRTH")) == 1)
            while let event = await host.next("DDATA"), event.metrics.first?.isHistorical == true {}
            #expect(await second.end(SIGTERM) == 0)
            #expect(births(await host.next("NDEATH")) == 1)
            #expect(host.devices.isEmpty)
        }
    }

    @Test("ask for another birth, and get it with the devices that are there")
    func rebirth() async throws {
        try await with("", Self.thermometer) { broker, host, start in
            let gateway = try start()
            _ = await host.next("DDATA")
            let payload = SparkplugPayload(metrics: [SparkplugMetric("Node Control/Rebirth", .boolean(true), at: 1)])
            let file = "\(broker.folder)/rebirth"
            try Data(payload.encoded).write(to: URL(fileURLWithPath: file))
            try await publish(["-t", "spBv1.0/plant/NCMD/hall", "-f", file], to: broker)
            #expect(births(await host.next("NBIRTH")) == 0)
            #expect(await host.next()?.description == "DBIRTH Thermometer")
            _ = await host.next("DDATA")
            #expect(await gateway.end(SIGTERM) == 0)
            _ = await host.next("NDEATH")
        }
    }

    @Test("get what came while they were away, marked as history, with nothing missing")
    func primaryHost() async throws {
        try await with(", \"primaryHost\": \"scada\"", Self.counter) { broker, host, start in
            func say(_ isOnline: Bool, _ time: Int) async throws {
                let text = #"{"online":\#(isOnline),"timestamp":\#(time)}"#
                try await publish(["-r", "-t", "spBv1.0/STATE/scada", "-m", text], to: broker)
            }
            let gateway = try start()
            try await gateway.wait { $0.contains("sparkplug: connected") }
            try await say(true, 10)
            var numbers: [Int] = []
            func take(_ count: Int) async -> Bool {
                var isHistory = false
                let goal = numbers.count + count
                while numbers.count < goal, let event = await host.next("DDATA") {
                    for metric in event.metrics {
                        guard case .bytes(let octets) = metric.value else { continue }
                        numbers.append(octets.reversed().reduce(0) { $0 << 8 | Int($1) })
                        isHistory = isHistory || metric.isHistorical
                    }
                }
                return isHistory
            }
            _ = await take(50)
            try await say(false, 20)
            // What was sent before the gateway knew is in front of its death.
            while let event = await host.next(), event.type != "NDEATH" {
                for metric in event.metrics {
                    guard case .bytes(let octets) = metric.value else { continue }
                    numbers.append(octets.reversed().reduce(0) { $0 << 8 | Int($1) })
                }
            }
            try await gateway.wait { $0.contains("sparkplug: the host 'scada' is offline") }
            try await gateway.wait { $0.contains("sparkplug: connected") }
            try await say(true, 30)
            #expect(await take(100))
            #expect(numbers == Array(numbers[0]..<(numbers[0] + numbers.count)))
            #expect(await gateway.end(SIGTERM) == 0)
            _ = await host.next("NDEATH")
        }
    }
}
