/// What came of a sweep: operations, their steps, the faults, and how the runs ended.
struct SweepTable: CustomStringConvertible {
    /// The name of the row of the runs with two faults.
    static let pairs = "two of them"

    /// One operation.
    struct Row: Sendable {
        let name: String
        var steps: [RadioStep]
        /// How many runs there were with each family of faults.
        var runs: [String: Int] = [:]
        var values = 0
        var cancellations = 0
        var errors = 0
        var failures = 0

        init(name: String, steps: [RadioStep]) {
            self.name = name
            self.steps = steps
        }

        mutating func add(_ verdict: FaultSweep.Verdict, of one: FaultSweep.Case) {
            runs[one.family, default: 0] += 1
            switch verdict.outcome {
            case "value": values += 1
            case "cancelled": cancellations += 1
            default: errors += 1
            }
            if !verdict.problems.isEmpty { failures += 1 }
        }
    }

    let rows: [Row]

    private func total(_ count: (Row) -> Int) -> Int { rows.map(count).reduce(0, +) }

    /// A row for each operation, and one for each family of faults; then the sums.
    var description: String {
        let width = rows.map(\.name.count).max() ?? 0
        let heads = ["steps", "runs", "value", "error", "cancelled", "red"]
        var lines = [Self.line("operation", heads, width)]
        for row in rows {
            let runs = row.runs.values.reduce(0, +)
            let counts = [row.steps.count, runs, row.values, row.errors, row.cancellations, row.failures]
            lines.append(Self.line(row.name, counts.map { "\($0)" }, width))
        }
        lines.append("")
        for family in SweptFault.families + [Self.pairs] {
            let runs = total { $0.runs[family] ?? 0 }
            lines.append(Self.line(family, ["", "\(runs)"], width))
        }
        lines.append("")
        let runs = total { $0.runs.values.reduce(0, +) }
        lines.append(
            "\(rows.count) operations, \(total { $0.steps.count }) steps, \(SweptFault.all.count) faults: \(runs) runs, "
                + "of which \(total(\.values)) gave a value, \(total(\.errors)) an error, \(total(\.cancellations)) were "
                + "cancelled; \(total(\.failures)) red"
        )
        return lines.joined(separator: "\n")
    }

    private static func line(_ name: String, _ cells: [String], _ width: Int) -> String {
        let padded = cells.map { String(repeating: " ", count: max(0, 10 - $0.count)) + $0 }
        return name + String(repeating: " ", count: max(0, width - name.count)) + padded.joined()
    }
}
