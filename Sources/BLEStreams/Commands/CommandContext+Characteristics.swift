import BLERadio

extension CommandContext: CharacteristicAccess {
    /// Runs the closure with the command's link. See ``CharacteristicAccess``.
    ///
    /// - Throws: as ``link``; what the closure throws.
    public func withLink<Output: Sendable>(
        for operation: CharacteristicOperation,
        timeout: Duration?,
        _ body: (Link) async throws -> Output
    ) async throws -> Output { try await body(try link) }

    /// The values that a characteristic sends, on the link that is up when the stream is iterated. See
    /// ``CharacteristicAccess``.
    public func octets(
        of characteristic: CharacteristicReference,
        readingFirst readsFirst: Bool,
        indications: Bool,
        buffer: BufferPolicy
    ) -> BLEStream<CharacteristicValue> {
        let operation = readsFirst ? "values" : "notifications"
        let subject = StreamSubject(operation: operation, object: "of \(characteristic) of \(peripheral)")
        let tally = Tally()
        let open: @Sendable (Waker) -> Cursor<CharacteristicValue> = { [self] waker in
            do {
                let stream = try link.octets(
                    of: characteristic,
                    readingFirst: readsFirst,
                    indications: indications,
                    buffer: buffer
                )
                let cursor = stream.open(waker)
                // Not the waker: a consumer may iterate the stream twice at once.
                let iteration = CountedIteration()
                tally.began(iteration) { stream.counters }
                let close = {
                    cursor.close()
                    tally.ended(iteration)
                }
                return Cursor(poll: cursor.poll, unfinished: cursor.unfinished, stop: cursor.stop, close: close)
            } catch {
                return Cursor(poll: { throw error }, close: {})
            }
        }
        return BLEStream(subject, timeline: timeline, counting: StreamCounting(tally), open: open)
    }
}

/// Identifies one iteration among those that are counted.
private final class CountedIteration {}
