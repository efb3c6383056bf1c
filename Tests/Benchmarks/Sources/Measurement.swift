/// Several runs of one thing next to the C loop that does the same, in turns, so that both see the same machine.
struct Measurement {
    let name: String
    let unit: String
    /// How many of the unit one run does.
    let count: Int
    /// Nanoseconds of each run.
    private(set) var ours: [UInt64] = []
    private(set) var plain: [UInt64] = []

    init(_ name: String, unit: String, count: Int) {
        self.name = name
        self.unit = unit
        self.count = count
    }

    mutating func add(ours: UInt64, plain: UInt64) {
        self.ours.append(ours)
        self.plain.append(plain)
    }

    /// Our rate as a part of the C loop's, of the two medians.
    var ratio: Double { Double(Self.median(plain)) / Double(Self.median(ours)) }

    /// The smallest and the largest ratio of two runs that followed each other.
    var spread: ClosedRange<Double> {
        let ratios = zip(ours, plain).map { Double($1) / Double($0) }.sorted()
        return (ratios.first ?? 0)...(ratios.last ?? 0)
    }

    func rate(_ runs: [UInt64]) -> Double { Double(count) / (Double(Self.median(runs)) / 1e9) }

    static func median(_ values: [UInt64]) -> UInt64 {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }

    /// One row of the table.
    var row: String {
        func padded(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        let fixed = { (value: Double, digits: Int) -> String in
            let scale = digits == 0 ? 1.0 : 100.0
            let rounded = (value * scale).rounded() / scale
            return digits == 0 ? "\(Int(rounded))" : "\(rounded)"
        }
        let label = name + String(repeating: " ", count: max(0, 44 - name.count))
        return label + padded(fixed(rate(ours), 0), 12) + padded(fixed(rate(plain), 0), 12) + padded(fixed(ratio, 2), 8)
            + "   \(fixed(spread.lowerBound, 2)) … \(fixed(spread.upperBound, 2))"
    }

    /// One line of JSON, for machines.
    var json: String {
        """
        {"name":"\(name)","unit":"\(unit)","count":\(count),"ours":\(ours),"c":\(plain),"ratio":\(ratio)}
        """
    }
}
