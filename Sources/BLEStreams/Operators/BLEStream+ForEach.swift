extension BLEStream {
    /// Calls a closure with each element, until the stream ends; for values that come one at a time, at two thirds of what
    /// a loop costs.
    ///
    /// A `for try await` loop asks for each element anew, and each time arranges for a cancellation. This does so once.
    /// Otherwise it is the same: elements come in order, in the caller's isolation, and what arrives while the closure
    /// runs waits in the stream's buffer. A closure has no `await`: what has to wait belongs into a loop.
    ///
    /// ```swift
    /// var sum = 0
    /// try await withTaskExecutorPreference(central.executor) {
    ///     try await link.notifications(of: .heartRateMeasurement).prefix(10).forEach { sum += $0.beatsPerMinute }
    /// }
    /// ```
    ///
    /// - Parameter body: called with each element. What it throws closes the stream.
    /// - Throws: what the stream or the closure throws; `CancellationError` if the task is cancelled, which closes the
    ///   stream at once.
    @inlinable
    public func forEach(_ body: (Element) throws -> Void) async throws {
        try await Iteration(open: open).forEach(body)
    }
}
