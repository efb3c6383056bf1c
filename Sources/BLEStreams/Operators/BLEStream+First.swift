import BLEProtocol

extension BLEStream {
    /// The first element; the stream is closed as soon as it has arrived.
    ///
    /// - Throws: what the stream throws; ``BLEError/Code/ended`` if it ends without an element; `CancellationError` if
    ///   the task is cancelled.
    public func first() async throws -> Element {
        try await first { _ in true }
    }

    /// The first element that meets a condition; the stream is closed as soon as it has arrived.
    ///
    /// - Throws: what the stream or the condition throws; ``BLEError/Code/ended`` if the stream ends without such an
    ///   element; `CancellationError` if the task is cancelled.
    public func first(where isWanted: (Element) throws -> Bool) async throws -> Element {
        for try await element in self where try isWanted(element) { return element }
        throw BLEError(
            .ended,
            operation: subject.operation,
            object: subject.object,
            cause: "the stream ended before the expected value",
            remedy: "Begin again, or use a stream that ends later: this one was ended by its source, or by an operator "
                + "such as prefix."
        )
    }

    /// All elements until the end, or the first `limit` of them.
    ///
    /// - Throws: what the stream throws (the elements before it are lost: iterate if they matter); `CancellationError`
    ///   if the task is cancelled.
    public func collect(_ limit: Int = .max) async throws -> [Element] {
        var elements: [Element] = []
        for try await element in prefix(limit) { elements.append(element) }
        return elements
    }
}
