extension BLEStream {
    /// What has come by now, as one array: for work that costs the same for one value as for many.
    ///
    /// Nothing is waited for: where values come one at a time each is a batch of its own, and what piled up while the
    /// consumer was busy is one. A logger writes once for each of them:
    ///
    /// ```swift
    /// for try await beats in link.notifications(of: .heartRateMeasurement).batched() {
    ///     print(beats.map { "\($0.beatsPerMinute)\n" }.joined(), terminator: "")
    /// }
    /// ```
    ///
    /// - Parameter limit: how many elements a batch has at most, 1 or more.
    /// - End: with the upstream, behind the last batch; no batch is empty.
    /// - Throw: an error of the upstream passes, behind the elements that came before it. A gap ends a batch.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func batched(atMost limit: Int = 256) -> BLEStream<[Element]> {
        precondition(limit > 0, "a batch has at least one element")
        return lift { upstream, _ in
            // What came behind a batch, and is told with the next poll.
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
