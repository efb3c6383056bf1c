extension BLEStream {
    /// The elements that have arrived by now, as one array: for work that costs the same for one value as for many.
    ///
    /// It never waits to fill a batch: values that arrive one at a time are batches of one, and those that arrived
    /// while the consumer was busy are one batch. A logger writes once for each batch:
    ///
    /// ```swift
    /// for try await beats in link.notifications(of: .heartRateMeasurement).batched() {
    ///     print(beats.map { "\($0.beatsPerMinute)\n" }.joined(), terminator: "")
    /// }
    /// ```
    ///
    /// - Parameter limit: the largest number of elements in a batch, 1 or more.
    /// - End: with the upstream, after the last batch; no batch is empty.
    /// - Throw: an error of the upstream passes, after the elements that came before it. A gap ends a batch.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func batched(atMost limit: Int = 256) -> BLEStream<[Element]> {
        precondition(limit > 0, "a batch has at least one element")
        return lift { upstream, _ in
            // The answer after a batch, returned by the next poll.
            var behind: Result<Polled<[Element]>, any Error>?
            return Cursor(over: upstream) {
                if let next = behind.take() { return try next.get() }
                var batch: [Element] = []
                let last: Result<Polled<[Element]>, any Error>
                do {
                    while true {
                        let polled = try upstream.poll()
                        if case .element(let element) = polled {
                            batch.append(element)
                            if batch.count == limit { return .element(batch) }
                        } else {
                            if case .pending = polled, !batch.isEmpty { return .element(batch) }
                            last = .success(polled.map { [$0] })
                            break
                        }
                    }
                } catch {
                    last = .failure(error)
                }
                if batch.isEmpty { return try last.get() }
                behind = last
                return .element(batch)
            }
        }
    }
}
