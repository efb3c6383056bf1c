extension BLEStream {
    /// Each element, transformed.
    ///
    /// - End: with the upstream. Throw: an error of the upstream passes; one of `transform` ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    public func map<Output: Sendable>(
        _ transform: @escaping @Sendable (Element) throws -> Output
    ) -> BLEStream<Output> {
        lift { upstream, _ in
            Cursor(
                poll: {
                    switch try upstream.poll() {
                    case .element(let element): .element(try transform(element))
                    case .pending: .pending
                    case .end: .end
                    }
                },
                unfinished: upstream.unfinished,
                close: upstream.close
            )
        }
    }

    /// Each element, transformed, without those for which `transform` gives `nil`.
    ///
    /// - End: with the upstream. Throw: an error of the upstream passes; one of `transform` ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    public func compactMap<Output: Sendable>(
        _ transform: @escaping @Sendable (Element) throws -> Output?
    ) -> BLEStream<Output> {
        lift { upstream, _ in
            Cursor(
                poll: {
                    while true {
                        switch try upstream.poll() {
                        case .element(let element):
                            if let output = try transform(element) { return .element(output) }
                        case .pending: return .pending
                        case .end: return .end
                        }
                    }
                },
                unfinished: upstream.unfinished,
                close: upstream.close
            )
        }
    }

    /// The elements that meet a condition.
    ///
    /// - End: with the upstream. Throw: an error of the upstream passes; one of the condition ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    public func filter(_ isIncluded: @escaping @Sendable (Element) throws -> Bool) -> BLEStream<Element> {
        compactMap { try isIncluded($0) ? $0 : nil }
    }

    /// The same elements; the closure sees each one on its way.
    ///
    /// - End: with the upstream. Throw: an error of the upstream passes; one of `action` ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    public func onEach(_ action: @escaping @Sendable (Element) throws -> Void) -> BLEStream<Element> {
        map { element in
            try action(element)
            return element
        }
    }
}
