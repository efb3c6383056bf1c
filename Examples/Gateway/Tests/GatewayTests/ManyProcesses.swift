import Foundation
import Leases
import TestBroker

/// Processes of the gateway on one broker, which share simulated counters.
final class ManyProcesses {
    let count: Int
    let counters: Int
    let broker: Broker
    let collector: Collector
    private(set) var running: [Int: RunningProgram] = [:]
    private let folder: String
    private let terms: String

    /// - Parameter terms: members of the section `leases`.
    init(_ count: Int, counters: Int, terms: String) async throws {
        (self.count, self.counters, self.terms) = (count, counters, terms)
        broker = try await Broker("allow_anonymous true\nmax_queued_messages 1000000")
        collector = try await Collector(on: broker)
        folder = try temporaryFolder("processes")
    }

    deinit {
        for program in running.values { program.signal(SIGKILL) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    func start(_ number: Int) throws {
        let peripherals = (1...counters).map { counter in
            let address = "C1:00:00:00:\(hex(counter >> 8)):\(hex(counter & 0xFF))"
            return #"{ "label": "c\#(counter)", "address": "\#(address)", "characteristics": [{ "uuid": "FFF1" }] }"#
        }
        let text = """
            { "broker": { "host": "127.0.0.1", "port": \(broker.port),
                          "clientID": "g\(number)", "keepAliveSeconds": 5 },
              "prefix": "g\(number)", "spool": { "folder": "\(folder)/spool\(number)" },
              "leases": { \(terms) }, "peripherals": [\(peripherals.joined(separator: ","))] }
            """
        let file = "\(folder)/gateway\(number).json"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let words = ["--simulated", "--interval", "500", "--counters", "\(counters)", file]
        running[number] = try RunningProgram(gatewayProgram, words)
    }

    private func hex(_ octet: Int) -> String {
        let text = String(octet, radix: 16, uppercase: true)
        return text.count == 1 ? "0\(text)" : text
    }

    /// Kills a process with a signal that it can't handle.
    func kill(_ number: Int) async { await running.removeValue(forKey: number)?.end(SIGKILL) }

    /// Ends all in order.
    ///
    /// - Returns: their statuses.
    func stop() async -> [Int32?] {
        for program in running.values { program.signal(SIGTERM) }
        defer { running = [:] }
        var statuses: [Int32?] = []
        for program in running.values { statuses.append(await program.waitForEnd()) }
        return statuses
    }

    /// Takes messages until something is so.
    func take(_ tenures: inout Tenures, until isSo: (Tenures) -> Bool) async {
        while !isSo(tenures), let message = await collector.next() { tenures.add(message.topic, message.payload) }
    }
}

/// Who has acted on which peripheral, and when, as the broker's messages say.
struct Tenures {
    /// When a tenure's first and last values were received.
    struct Span {
        var epoch: Epoch
        var process: String
        var first: Double
        var last: Double
    }

    private struct Payload: Decodable {
        struct Lease: Decodable {
            var epoch: UInt64
            var gateway: String
        }
        var lease: Lease
        var time: Double
    }

    /// The tenures of each peripheral, by epoch.
    private(set) var spans: [String: [Epoch: Span]] = [:]
    private var tails: [String: Mark] = [:]
    private var claims: [String: Epoch] = [:]
    private(set) var records = 0
    private(set) var void = 0
    /// Valid claims by an epoch that isn't higher than the one before.
    private(set) var wrongClaims: [String] = []

    mutating func add(_ topic: String, _ payload: String) {
        let parts = topic.split(separator: "/")
        if parts.count == 3, parts[1] == "leases" { addRecord(String(parts[2]), payload) }
        guard parts.count == 4, parts[1] == "value",
            let value = try? JSONDecoder().decode(Payload.self, from: Data(payload.utf8)),
            let bits = UInt64(value.lease.gateway, radix: 16)
        else { return }
        let epoch = Epoch(number: value.lease.epoch, gateway: GatewayID(rawValue: bits))
        let label = String(parts[2])
        let new = Span(epoch: epoch, process: String(parts[0]), first: value.time, last: value.time)
        var span = spans[label]?[epoch] ?? new
        span.first = min(span.first, value.time)
        span.last = max(span.last, value.time)
        spans[label, default: [:]][epoch] = span
    }

    /// Judges a record by rule 1 of LEASES.md.
    private mutating func addRecord(_ peripheral: String, _ payload: String) {
        guard case .record(let record)? = try? JSONDecoder().decode(LeaseMessage.self, from: Data(payload.utf8)) else {
            return
        }
        records += 1
        defer { tails[peripheral] = record.mark }
        guard record.after == tails[peripheral] else {
            void += 1
            return
        }
        guard !record.isReleased else { return }
        if let last = claims[peripheral], record.epoch < last { wrongClaims.append(payload) }
        claims[peripheral] = record.epoch
    }

    /// The process that acted last on a peripheral.
    func owner(_ label: String) -> Span? { spans[label]?.values.max { $0.last < $1.last } }

    /// Pairs of tenures of one peripheral that overlap, or whose epochs aren't in the order of their times.
    var overlaps: [String] {
        spans.flatMap { label, spans -> [String] in
            let sorted = spans.values.sorted { $0.first < $1.first }
            return zip(sorted, sorted.dropFirst()).compactMap { earlier, later -> String? in
                guard later.first <= earlier.last || later.epoch < earlier.epoch else { return nil }
                return "\(label): \(earlier) and \(later)"
            }
        }
    }

    /// How long nobody acted on the peripherals of processes that were killed at this time, in seconds.
    func pauses(of processes: Set<String>, killedAt time: Double) -> [Double] {
        spans.values.compactMap { spans -> Double? in
            let before = spans.values.filter { $0.first < time }.max { $0.last < $1.last }
            guard let before, processes.contains(before.process) else { return nil }
            return spans.values.filter { $0.first > time && $0.process != before.process }.map(\.first).min()
                .map { $0 - time }
        }
    }
}
