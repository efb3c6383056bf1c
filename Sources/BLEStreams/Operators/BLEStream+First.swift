import BLEProtocol

extension BLEStream {
    /// The first element; the stream is closed as soon as it is there.
    ///
    /// - Throws: what the stream throws; ``BLEError/Code/ended`` when it ends without an element;
    ///   `CancellationError` when the task is cancelled.
    public func first() async throws -> Element {
        try await first { _ in true }
    }

    /// The first element that meets a condition; the stream is closed as soon as it is there.
    ///
    /// - Throws: what the stream or the condition throws; ``BLEError/Code/ended`` when the stream ends without such an
    ///   element; `CancellationError` when the task is cancelled.
    public func first(where isWanted: (Element) throws -> Bool) async throws -> Element {
        for try await element in self where try isWanted(element) { return element }
        throw BLEError(
            .ended,
            operation: subject.operation,
            object: subject.object,
            cause: "the stream ended before the value that was waited for"
        )
    }

    /// All elements until the end, or the first `limit` of them.
    ///
    /// - Throws: what the stream throws (the elements before it are lost: iterate where they matter);
    ///   `CancellationError` when the task is cancelled.
    public func collect(_ limit: Int = .max) async throws -> [Element] {
        var elements: [Element] = []
        for try await element in prefix(limit) { elements.append(element) }
        return elements
    }
}
