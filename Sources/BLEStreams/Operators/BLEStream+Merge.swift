import BLERadio

extension BLEStream {
    /// The elements of this stream and of others, as they arrive.
    ///
    /// - End: when all have ended.
    /// - Throw: the first error of any of them; it ends all streams, and comes behind the elements that they have
    ///   received. ``BLEError/receivedParts`` has the part of a message of each. Put ``retry(_:when:)`` on those that
    ///   may fail.
    /// - Cancellation and an early `break` close all at once.
    public func merge(with others: BLEStream<Element>...) -> BLEStream<Element> {
        MergeCursor.stream(of: [self] + others) { $1 }
    }
}

extension Sequence {
    /// The elements of all these streams, as they arrive; each stream's own order is kept, and none starves another.
    ///
    /// ```swift
    /// for try await beat in sensors.map({ $0.stream { $0.notifications(of: .heartRateMeasurement) } }).merged() {
    ///     print(beat.beatsPerMinute)
    /// }
    /// ```
    ///
    /// - End: when all have ended; immediately if there is none.
    /// - Throw: the first error of any of them; it ends all streams, and comes behind the elements that they have
    ///   received. ``BLEError/receivedParts`` has the part of a message of each. Put ``BLEStream/retry(_:when:)`` on
    ///   those that may fail.
    /// - Cancellation and an early `break` close all at once.
    public func merged<Value>() -> BLEStream<Value> where Element == BLEStream<Value> {
        MergeCursor.stream(of: Array(self)) { $1 }
    }

    /// The values of many streams, each with its source.
    ///
    /// ```swift
    /// for try await (sensor, beat) in sensors.merged({ $0.stream { $0.notifications(of: .heartRateMeasurement) } }) {
    ///     print(sensor.address, beat.beatsPerMinute)
    /// }
    /// ```
    ///
    /// - Parameter stream: makes the stream of a source; called once for each, immediately.
    /// - End, throw, cancellation and an early `break`: as with ``merged()``.
    public func merged<Value: Sendable>(
        _ stream: (Element) throws -> BLEStream<Value>
    ) rethrows -> BLEStream<(source: Element, value: Value)> where Element: Sendable {
        let sources = Array(self)
        return MergeCursor.stream(of: try sources.map(stream)) { (source: sources[$0], value: $1) }
    }
}
