import FoundationEssentials

/// Compares what the paths of ``Instructions`` cost with `Tests/Benchmarks/Counts.txt`, so that nothing becomes slow by
/// accident: instructions within 2 %, allocations exactly.
///
/// A path of which two threads take turns may take 5 % and 0.3 more; and 15 % and 0.6 less, since on a busy machine
/// they find each other awake more often.
struct CountCheck {
    private struct Tolerance {
        /// How far a count may lie from the accepted one, as a part of it.
        let instructions: ClosedRange<Double>
        /// The same for allocations, in blocks.
        let allocations: ClosedRange<Double>

        init(of path: Instructions.Path) {
            (instructions, allocations) = path.hasTwoThreads ? (-0.15...0.05, -0.6...0.3) : (-0.02...0.02, 0...0)
        }
    }

    private static let file = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Counts.txt")

    private static let heading = """
        # What one value costs on each path: processor instructions, and blocks of memory.
        # Compared by: Tests/Benchmarks/counts
        # Written by:  Tests/Benchmarks/counts --accept

        """

    private static let advice = """

        Where a change is meant to cost this, or saves it, accept the new counts and have them in the same commit:
            Tests/Benchmarks/counts --accept
        Where nothing was changed, the compiler, the C library or valgrind is another one than that of the counts: check
        them at the commit before, on this machine, and compare with that.
        """

    /// Counts, and compares; `false` where something differs.
    ///
    /// - Parameter accepts: whether the counts are written instead.
    func run(accepts: Bool) throws -> Bool {
        guard let counts = try Instructions().counts() else { return false }
        if accepts {
            let lines = counts.map { "\(Column.text($0.path.rawValue, 16))\($0.text)\n" }.joined()
            try (Self.heading + lines).write(to: Self.file, atomically: true, encoding: .utf8)
            print(lines, terminator: "")
            return true
        }
        let kept = try kept()
        var isSame = true
        for count in counts {
            let verdict = verdict(on: count, kept[count.path.rawValue])
            if verdict != nil { isSame = false }
            print(Column.text(count.path.name, 66) + count.text + (verdict.map { "   ✗ " + $0 } ?? ""))
        }
        if !isSame { print(Self.advice) }
        return isSame
    }

    private func verdict(on count: Instructions.Count, _ kept: (instructions: Int, allocations: String)?) -> String? {
        guard let kept else { return "not in Counts.txt" }
        let change = Double(count.instructions) / Double(kept.instructions) - 1
        let tolerance = Tolerance(of: count.path)
        var differences: [String] = []
        if !tolerance.instructions.contains(change) {
            let percent = Column.fixed(abs(change) * 100, 1)
            differences.append("\(percent) % \(change > 0 ? "more" : "fewer") instructions than \(kept.instructions)")
        }
        let before = Double(kept.allocations) ?? .infinity
        if count.blocks != kept.allocations, !tolerance.allocations.contains(count.allocations - before) {
            differences.append("allocations were \(kept.allocations)")
        }
        return differences.isEmpty ? nil : differences.joined(separator: "; ")
    }

    /// The counts that were accepted last, by path.
    private func kept() throws -> [String: (instructions: Int, allocations: String)] {
        var kept: [String: (instructions: Int, allocations: String)] = [:]
        for line in try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count == 3, let instructions = Int(fields[1]) else { continue }
            kept[String(fields[0])] = (instructions, String(fields[2]))
        }
        return kept
    }
}

extension Instructions.Count {
    /// Blocks of memory for each value, with two places: some come once for many values.
    var blocks: String { Column.fixed(allocations, 2) }

    fileprivate var text: String { Column.right("\(instructions)", 8) + Column.right(blocks, 8) }
}
