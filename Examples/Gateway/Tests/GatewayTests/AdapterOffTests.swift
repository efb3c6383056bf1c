import BLESimulator
import BLEStreams
import Foundation
import TestBroker
import Testing

@testable import Gateway

/// No session begins before the adapter is on.
@Suite(
    "A gateway whose adapter is off",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(2))
)
struct AdapterOffTests {
    @Test func `says that no peripheral is ready, whatever one that was killed has left at the broker`() async throws {
        let world = try await AdapterOffWorld()
        try await world.publish(#"{"peripheral":"lock","state":"ready","ready":true}"#, at: "test/state/lock")
        try await world.publish(#"{"peripheral":"open","state":"ready","ready":true}"#, at: "test/state/open")
        try await world.run {
            var states: [String: String] = [:]
            while let message = await world.collector.next(), message.payload != "offline" {
                states[message.topic] = message.payload
                guard message.payload == "online" else { continue }
                // One that comes later, while nothing can be followed.
                world.control.yield(.reload(world.configuration(of: "lock", "open")))
                world.control.yield(.stop)
            }
            for label in ["lock", "open"] {
                let state = states["test/state/\(label)"] ?? ""
                #expect(state == #"{"peripheral":"\#(label)","state":"not followed","ready":false}"#)
            }
        }
    }

    @Test func `says what it waits for, with the command that helps, and goes on with the adapter`() async throws {
        let world = try await AdapterOffWorld()
        try await world.run {
            let line = await world.lines.first { $0.hasPrefix("adapter: ") }
            #expect(line?.contains("`ble adapter on`") == true, "\(line ?? "")")
            world.adapter.powerOn()
            while let message = await world.collector.next() {
                if message.topic == "test/state/lock", message.payload.contains("scanning") { break }
            }
        }
    }
}

/// A broker, a subscriber, and a gateway on an adapter that is switched off.
private final class AdapterOffWorld: Sendable {
    let collector: Collector
    let control: AsyncStream<Order>.Continuation
    let adapter: SimulatedAdapter
    /// What a person is told.
    let lines: AsyncStream<String>
    private let told: AsyncStream<String>.Continuation
    private let orders: AsyncStream<Order>
    private let broker: Broker
    private let folder: String

    init() async throws {
        broker = try await Broker()
        collector = try await Collector(on: broker, topic: "test/#")
        folder = try temporaryFolder("gateway")
        adapter = SimulatedAir().adapter()
        adapter.powerOff()
        (orders, control) = AsyncStream.makeStream()
        (lines, told) = AsyncStream.makeStream()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func configuration(of labels: String...) -> Configuration {
        var configuration = Configuration(spool: .init(folder: "\(folder)/spool"))
        configuration.broker.host = "127.0.0.1"
        configuration.broker.port = broker.port
        configuration.prefix = "test"
        configuration.peripherals = labels.map { .init(label: $0, name: $0) }
        return configuration
    }

    /// Publishes a state that the broker keeps.
    func publish(_ text: String, at topic: String) async throws {
        let words = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-V", "5", "-q", "1", "-r", "-t", topic, "-m", text]
        #expect(try await RunningProgram("/usr/bin/mosquitto_pub", words).waitForEnd() == 0)
    }

    /// Runs a gateway that is to follow one peripheral while the closure runs.
    func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let gateway = Gateway(
            configuration(of: "lock"),
            orders: orders,
            radio: { [adapter] in .radio(adapter) },
            report: { [told] line in told.yield(line) }
        )
        try await withChildren([Child { try await gateway.run() }], areCancelled: false) { [control] in
            defer { control.yield(.stop) }
            try await body()
        }
    }
}
