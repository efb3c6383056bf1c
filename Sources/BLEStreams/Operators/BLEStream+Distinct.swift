extension BLEStream {
    /// The elements, except those equal to their predecessor.
    ///
    /// - End: with the upstream. Throw: an error of the upstream passes.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func distinct() -> BLEStream<Element> where Element: Equatable {
        distinct { $0 }
    }

    /// The elements, except those with the same key as their predecessor: `distinct(by: \.rssi)`.
    ///
    /// - End: with the upstream.
    /// - Throw: an error of the upstream passes; one of `key` ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func distinct<Key: Equatable & SendableMetatype>(
        by key: @escaping @Sendable (Element) throws -> Key
    ) -> BLEStream<Element> {
        compactMap(inEachIteration: {
            var last: Key?
            return { element in
                let key = try key(element)
                defer { last = key }
                return key == last ? nil : element
            }
        })
    }
}
