import Foundation
import Testing

/// Each operation, with each fault at each of its steps. `FAULT_SWEEP=all` runs all of that and prints the table, which takes
/// some minutes, and `FAULT_SWEEP=12` every twelfth run; without it a part is drawn, the same each time.
@Suite(.timeLimit(.minutes(60))) struct FaultSweepTests {
    private static let wanted = ProcessInfo.processInfo.environment["FAULT_SWEEP"]
    /// One of so many runs is drawn; unless said otherwise a prime, so that no step and no fault is left out again and again.
    private static let stride = wanted == "all" ? 1 : max(1, wanted.flatMap { Int($0) } ?? 83)

    @Test func `whatever goes wrong at whichever step, an operation ends, tells why, and leaves nothing behind`()
        async throws
    {
        let rows = try await withThrowingTaskGroup(of: SweepTable.Row.self) { group in
            var rows: [SweepTable.Row] = []
            var operations = SweptOperation.all[...]
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
        let table = SweepTable(rows: SweptOperation.all.compactMap { one in rows.first { $0.name == one.name } })
        #expect(table.rows.count == SweptOperation.all.count && table.rows.allSatisfy { !$0.steps.isEmpty })
        if Self.wanted != nil { print(table) }
    }

    /// Runs one operation with all faults, or with those that are drawn.
    private static func row(of operation: SweptOperation) async throws -> SweepTable.Row {
        let reference = try await FaultSweep.reference(of: operation)
        var row = SweepTable.Row(name: operation.name, steps: reference.steps)
        let first = operation.name.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) % stride }
        for one in reference.cases.dropFirst(first % max(1, min(stride, reference.cases.count))).striding(by: stride) {
            let verdict = await FaultSweep.verdict(of: one, against: reference)
            row.add(verdict, of: one.fault)
            #expect(verdict.problems.isEmpty, "\(one): \(verdict.outcome), and \(verdict.problems)")
        }
        return row
    }
}

extension Collection {
    /// Every so manieth element, from the first one on.
    fileprivate func striding(by stride: Int) -> [Element] {
        enumerated().compactMap { $0.offset % stride == 0 ? $0.element : nil }
    }
}
