import FoundationEssentials

/// The rows as a table for people and as JSON for machines.
struct Report: Codable {
    let date: String
    let processors: Int
    let runs: Int
    var rows: [Row] = []

    init(runs: Int) {
        date = Date.now.formatted(.iso8601)
        processors = ProcessInfo.processInfo.processorCount
        self.runs = runs
    }

    /// The whole report as one JSON object.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    static let heading =
        Column.text("", 50) + Column.right("ours", 11) + Column.right("plain C", 11) + Column.right("figure", 12)
        + Column.text("   of single runs", 24) + Column.text("goal", 10) + Column.right("allocs", 8)
        + Column.right("peak MiB", 10)
}

extension Row {
    /// The row as a line of the table.
    var line: String {
        let (least, most) = (figures.min() ?? 0, figures.max() ?? 0)
        return Column.text(name, 50) + Column.right(rate.map { Column.number($0) } ?? "", 11)
            + Column.right(plainRate.map { Column.number($0) } ?? "", 11) + Column.right(text(median) + unit, 12)
            + Column.text(figures.count > 1 ? "   \(text(least)) … \(text(most))" : "", 24)
            + Column.text(goalText, 10) + Column.right(allocations.map { Column.fixed($0, 2) } ?? "", 8)
            + Column.right(peakMemory.map { Column.fixed($0 / 1_048_576, 0) } ?? "", 10)
    }

    private var unit: String {
        switch kind {
        case .ratio, .factor: ""
        case .rate: "/s"
        case .cost: " µs"
        case .memory: " KiB"
        case .instructions: " instr"
        }
    }

    private func text(_ value: Double) -> String {
        switch kind {
        case .ratio, .factor: Column.fixed(value, 2)
        case .rate, .instructions: Column.number(value)
        case .cost: Column.fixed(value, 3)
        case .memory: Column.fixed(value / 1024, 2)
        }
    }

    private var goalText: String {
        let mark = isReached == false ? " ✗" : ""
        return switch goal {
        case .atLeast(let least)?: "≥ \(text(least))\(mark)"
        case .atMost(let most)?: "≤ \(text(most))\(mark)"
        case nil: ""
        }
    }
}

/// The cells of a table.
enum Column {
    static func text(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    static func fixed(_ value: Double, _ digits: Int) -> String {
        let scale = (0..<digits).reduce(1) { factor, _ in factor * 10 }
        let number = Int((value.magnitude * Double(scale)).rounded())
        let sign = value < 0 && number > 0 ? "-" : ""
        guard digits > 0 else { return "\(sign)\(number)" }
        let fraction = String(number % scale)
        return "\(sign)\(number / scale).\(String(repeating: "0", count: digits - fraction.count))\(fraction)"
    }

    /// A whole number with a mark at each thousand.
    static func number(_ value: Double) -> String {
        var digits = String(Int(value.rounded()))
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
            place -= 3
        }
        return digits
    }
}
