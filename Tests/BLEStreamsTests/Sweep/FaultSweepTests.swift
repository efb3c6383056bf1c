import Foundation
import Testing

/// Each operation, with each fault at each of its steps, and with another one behind each. `FAULT_SWEEP=all` runs all
/// of that and prints the table, which takes an hour, and `FAULT_SWEEP=12` every twelfth run; without it a part is
/// drawn, the same each time. `FAULT_SWEEP_SEEDS=3` does so in three orders of what happens at once, and
/// `FAULT_SWEEP_OF=joined` with the operations of such names only.
@Suite(.timeLimit(.minutes(180))) struct FaultSweepTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let wanted = environment["FAULT_SWEEP"]
    private static let seeds = max(1, environment["FAULT_SWEEP_SEEDS"].flatMap { UInt64($0) } ?? 1)
    private static let operations = SweptOperation.all.filter { operation in
        environment["FAULT_SWEEP_OF"].map { operation.name.contains($0) } ?? true
    }
    /// One of so many runs is drawn; unless said otherwise a prime, so that no step and no fault is left out again and
    /// again.
    private static let stride = wanted == "all" ? 1 : max(1, wanted.flatMap { Int($0) } ?? 83)

    @Test func `whatever goes wrong at whichever step, an operation ends, tells why, and leaves nothing behind`()
        async throws
    {
        let rows = try await withThrowingTaskGroup(of: SweepTable.Row.self) { group in
            var rows: [SweepTable.Row] = []
            var operations = Self.operations[...]
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
                guard let operation = operations.popFirst() else { break }
                group.addTask { try await Self.row(of: operation) }
            }
            while let row = try await group.next() {
                rows.append(row)
                guard let operation = operations.popFirst() else { continue }
                group.addTask { try await Self.row(of: operation) }
            }
            return rows
        }
        let table = SweepTable(rows: Self.operations.compactMap { one in rows.first { $0.name == one.name } })
        #expect(!table.rows.isEmpty && table.rows.count == Self.operations.count)
        #expect(table.rows.allSatisfy { !$0.steps.isEmpty })
        if Self.wanted != nil { print(table) }
    }

    /// Runs one operation with all faults, or with those that are drawn.
    private static func row(of operation: SweptOperation) async throws -> SweepTable.Row {
        var row = SweepTable.Row(name: operation.name, steps: [])
        for seed in 1...seeds {
            let reference = try await FaultSweep.reference(of: operation, seed: seed)
            row.steps += reference.steps
            let pairs = drawn(reference.pairs, operation, seed + 1, stride * (wanted == nil ? 3 : 1))
            for one in drawn(reference.cases, operation, seed, stride) + pairs {
                let verdict = await FaultSweep.verdict(of: one, against: reference)
                row.add(verdict, of: one)
                #expect(verdict.problems.isEmpty, "\(one): \(verdict.outcome), and \(verdict.problems)")
            }
        }
        return row
    }

    /// All, or those that are drawn, others with each seed.
    private static func drawn(
        _ cases: [FaultSweep.Case],
        _ operation: SweptOperation,
        _ seed: UInt64,
        _ stride: Int
    ) -> [FaultSweep.Case] {
        let first = operation.name.utf8.reduce(Int(seed % 1000) - 1) { ($0 &* 31 &+ Int($1)) % stride }
        return cases.dropFirst(first % max(1, min(stride, cases.count))).striding(by: stride)
    }
}

extension Collection {
    /// Every so manieth element, from the first one on.
    fileprivate func striding(by stride: Int) -> [Element] {
        enumerated().compactMap { $0.offset % stride == 0 ? $0.element : nil }
    }
}
