/// How the heap in use grows with the worlds that a process runs.
///
/// A leak grows with each world. The runtime's own tables grow too, seldom and by much at once: when a table of
/// conformances or of types is full, it doubles. Between two worlds, what is in use also varies with what the runtime
/// has not let go of yet. So the second half of the worlds is cut into parts; the least of each part is what is kept,
/// and the median of the steps from part to part is the growth: one large step changes it as little as one small one.
struct HeapGrowth: Sendable {
    /// How many octets were in use, after so many worlds each.
    var samples: [Int] = []
    let worldsPerSample: Int

    /// With fewer there is nothing but noise.
    static let fewest = 16
    private static let parts = 8

    /// Octets for each world more; `nil` where there are too few samples.
    var perWorld: Int? {
        guard samples.count >= Self.fewest else { return nil }
        let late = samples.suffix(samples.count / 2)
        let length = max(2, late.count / Self.parts)
        let least = stride(from: late.startIndex, through: late.endIndex - length, by: length)
            .compactMap { late[$0..<$0 + length].min() }
        let steps = zip(least, least.dropFirst()).map { $1 - $0 }.sorted()
        guard !steps.isEmpty else { return nil }
        return steps[steps.count / 2] / (length * worldsPerSample)
    }
}
