extension BLEStream {
    /// Each element, transformed.
    ///
    /// - End: with the upstream.
    /// - Throw: an error of the upstream passes; one of `transform` ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func map<Output: Sendable>(
        _ transform: @escaping @Sendable (Element) throws -> Output
    ) -> BLEStream<Output> {
        map(inEachIteration: { transform })
    }

    /// Each element, transformed, except those for which `transform` returns `nil`.
    ///
    /// - End: with the upstream.
    /// - Throw: an error of the upstream passes; one of `transform` ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func compactMap<Output: Sendable>(
        _ transform: @escaping @Sendable (Element) throws -> Output?
    ) -> BLEStream<Output> {
        compactMap(inEachIteration: { transform })
    }

    /// The elements that meet a condition.
    ///
    /// - End: with the upstream.
    /// - Throw: an error of the upstream passes; one of the condition ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func filter(_ isIncluded: @escaping @Sendable (Element) throws -> Bool) -> BLEStream<Element> {
        compactMap { try isIncluded($0) ? $0 : nil }
    }

    /// The same elements; the closure is called with each one as it passes.
    ///
    /// - End: with the upstream.
    /// - Throw: an error of the upstream passes; one of `action` ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func onEach(_ action: @escaping @Sendable (Element) throws -> Void) -> BLEStream<Element> {
        map { element in
            try action(element)
            return element
        }
    }

    // MARK: - With a state in each iteration

    @inlinable
    func map<Output: Sendable>(
        inEachIteration makeTransform: @escaping @Sendable () -> (Element) throws -> Output
    ) -> BLEStream<Output> {
        lift { upstream, _ in
            let transform = makeTransform()
            return Cursor(over: upstream) { try upstream.poll().map(transform) }
        }
    }

    @inlinable
    func compactMap<Output: Sendable>(
        inEachIteration makeTransform: @escaping @Sendable () -> (Element) throws -> Output?
    ) -> BLEStream<Output> {
        lift { upstream, _ in
            let transform = makeTransform()
            return Cursor(over: upstream) {
                while true {
                    switch try upstream.poll() {
                    case .element(let element):
                        if let output = try transform(element) { return .element(output) }
                        // Nothing may ever match, and the source may never pause.
                        if Task.isCancelled { return .pending }
                    case .gap(let gap): return .gap(gap)
                    case .pending: return .pending
                    case .end: return .end
                    }
                }
            }
        }
    }
}
