extension BLEStream {
    /// Calls a closure with each element until the stream ends.
    ///
    /// Values that come one at a time cost a third less than in a `for try await` loop, which prepares for cancellation
    /// anew for each element; this does so once. Otherwise it is the same: elements come in order, in the caller's
    /// isolation, and what arrives while the closure runs waits in the stream's buffer. The closure can't `await`; use
    /// a loop for that.
    ///
    /// ```swift
    /// var sum = 0
    /// try await withTaskExecutorPreference(central.executor) {
    ///     try await link.notifications(of: .heartRateMeasurement).prefix(10).receive { sum += $0.beatsPerMinute }
    /// }
    /// ```
    ///
    /// - Parameter body: called with each element. What it throws closes the stream.
    /// - Throws: what the stream or the closure throws; `CancellationError` if the task is cancelled, which closes the
    ///   stream at once.
    @inlinable
    public func receive(_ body: (Element) throws -> Void) async throws {
        try await Iteration(open: open).receive(body)
    }
}
