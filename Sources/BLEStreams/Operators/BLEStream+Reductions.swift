extension BLEStream {
    /// The result accumulated so far, after each element: running sums, means, counts.
    ///
    /// ```swift
    /// let totals = temperatures.reductions(into: (sum: 0.0, count: 0)) { total, celsius in
    ///     total = (total.sum + celsius, total.count + 1)
    /// }
    /// for try await total in totals { print("mean so far:", total.sum / Double(total.count)) }
    /// ```
    ///
    /// - Parameters:
    ///   - initial: the value that an iteration begins with; it is not an element itself.
    ///   - accumulate: adds the next element to the result.
    /// - End: with the upstream; without elements there are no results.
    /// - Throw: an error of the upstream passes; one of `accumulate` ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func reductions<Result: Sendable>(
        into initial: Result,
        _ accumulate: @escaping @Sendable (inout Result, Element) throws -> Void
    ) -> BLEStream<Result> {
        map(inEachIteration: {
            var result = initial
            return { element in
                try accumulate(&result, element)
                return result
            }
        })
    }
}
