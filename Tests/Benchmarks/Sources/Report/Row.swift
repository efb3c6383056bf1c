/// One line of the report: what was measured, what a plain C loop needed for the same, and what is asked for.
struct Row: Codable {
    /// What the figure of a row is, and so what the goal is about.
    enum Kind: String, Codable {
        /// Our rate as a part of the C loop's.
        case ratio
        /// Elements a second.
        case rate
        /// Microseconds for each element.
        case cost
        /// Octets of memory.
        case memory
        /// How often the other measurement one costs.
        case factor
        /// Processor instructions for each element.
        case instructions
    }

    enum Goal: Codable {
        case atLeast(Double)
        case atMost(Double)
    }

    let suite: String
    let name: String
    let kind: Kind
    /// The figure of each run.
    let figures: [Double]
    /// Elements a second, where a run has a rate: ours, and the C loop's.
    var rate: Double?
    var plainRate: Double?
    var goal: Goal?
    /// Allocations for each element, measured in a run of its own.
    var allocations: Double?
    /// The most memory that the process had in use, in octets.
    var peakMemory: Double?

    init(
        _ suite: String,
        _ name: String,
        _ kind: Kind,
        _ figures: [Double],
        goal: Goal? = nil,
        allocations: Double? = nil,
        peakMemory: Double? = nil
    ) {
        self.suite = suite
        self.name = name
        self.kind = kind
        self.figures = figures
        self.goal = goal
        self.allocations = allocations
        self.peakMemory = peakMemory
    }

    var median: Double { figures.median }

    var isReached: Bool? {
        switch goal {
        case .atLeast(let least)?: median >= least
        case .atMost(let most)?: median <= most
        case nil: nil
        }
    }
}

extension Row {
    /// Nanoseconds of runs that took turns, and so saw the same machine; the figure is the ratio of the medians.
    init(
        _ suite: String,
        _ name: String,
        count: Int,
        ours: [UInt64],
        plain: [UInt64],
        goal: Goal? = nil,
        allocations: Double? = nil,
        peakMemory: Double? = nil
    ) {
        // Each of our runs beside the median of the C loop's: their median is the ratio of the medians.
        let reference = plain.map { Double($0) }.median
        self.init(
            suite,
            name,
            .ratio,
            ours.map { reference / Double($0) },
            goal: goal,
            allocations: allocations,
            peakMemory: peakMemory
        )
        rate = Double(count) / (ours.map { Double($0) }.median / 1e9)
        plainRate = Double(count) / (reference / 1e9)
    }
}

extension [Double] {
    /// The one in the middle; 0 of none.
    var median: Double {
        let sorted = sorted()
        return isEmpty ? 0 : sorted[sorted.count / 2]
    }
}
