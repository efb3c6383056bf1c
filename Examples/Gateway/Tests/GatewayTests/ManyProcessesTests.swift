import Foundation
import TestBroker
import Testing

@testable import Gateway

/// `GATEWAY_PROCESSES=20` runs as many gateways, with the default terms.
@Suite(
    "Processes that share peripherals",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(10))
)
struct ManyProcessesTests {
    private static let wanted = ProcessInfo.processInfo.environment["GATEWAY_PROCESSES"].flatMap(Int.init)
    private static let quickTerms = #"""
        "confirmationSeconds": 4, "pulseSeconds": 0.5, "partingSeconds": 1, "leaseSeconds": 20, "renewalSeconds": 5
        """#

    @Test("never act on one peripheral at once, while some are killed and started again")
    func killed() async throws {
        let count = Self.wanted ?? 4
        let counters = count * 2
        let processes = try await ManyProcesses(
            count,
            counters: counters,
            terms: Self.wanted == nil ? Self.quickTerms : ""
        )
        for number in 0..<count { try processes.start(number) }
        let labels = (1...counters).map { "c\($0)" }
        var (tenures, pauses): (Tenures, [Double]) = (Tenures(), [])
        await processes.take(&tenures) { tenures in labels.allSatisfy { tenures.owner($0) != nil } }
        for round in 0..<2 {
            // The owners of some peripherals, a quarter of all.
            let owners = Set(labels.shuffled().compactMap { tenures.owner($0)?.process }).prefix(max(1, count / 4))
            let numbers = owners.compactMap { Int($0.dropFirst()) }
            let time = Date().timeIntervalSince1970
            for number in numbers { await processes.kill(number) }
            await processes.take(&tenures) { tenures in
                labels.allSatisfy { label in
                    tenures.owner(label).map { !owners.contains($0.process) && $0.last > time } ?? false
                }
            }
            pauses += tenures.pauses(of: Set(owners), killedAt: time)
            if round == 0 { for number in numbers { try processes.start(number) } }
        }
        let ends = await processes.stop()
        #expect(ends.allSatisfy { $0 == 0 })
        #expect(tenures.overlaps.isEmpty, "\(tenures.overlaps.joined(separator: "\n"))")
        #expect(tenures.wrongClaims.isEmpty)
        #expect(!pauses.isEmpty)
        report(count, counters, tenures, pauses.sorted())
    }

    private func report(_ count: Int, _ counters: Int, _ tenures: Tenures, _ pauses: [Double]) {
        func seconds(_ value: Double?) -> String { value.map { "\(($0 * 10).rounded() / 10) s" } ?? "none" }
        let spans = tenures.spans.values.map(\.count).reduce(0, +)
        print("processes \(count), peripherals \(counters), tenures \(spans), overlaps \(tenures.overlaps.count)")
        print("lease records \(tenures.records), of which void \(tenures.void)")
        print(
            "take-overs \(pauses.count): first \(seconds(pauses.first)), median "
                + "\(seconds(pauses.isEmpty ? nil : pauses[pauses.count / 2])), last \(seconds(pauses.last))"
        )
    }
}
