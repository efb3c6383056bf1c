extension BLEStream {
    /// The elements after the first `count`, 0 or more: skips what a device sends before it has settled.
    ///
    /// - End: with the upstream. Throw: an error of the upstream passes.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func dropFirst(_ count: Int = 1) -> BLEStream<Element> {
        precondition(count >= 0, "a stream can't drop a negative number of elements")
        return compactMap(inEachIteration: {
            var left = count
            return { element in
                guard left > 0 else { return element }
                left -= 1
                return nil
            }
        })
    }

    /// The elements from the first one that doesn't meet the condition, which isn't evaluated after that.
    ///
    /// - End: with the upstream.
    /// - Throw: an error of the upstream passes; one of the condition ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func drop(while isUnwanted: @escaping @Sendable (Element) throws -> Bool) -> BLEStream<Element> {
        compactMap(inEachIteration: {
            var isDropping = true
            return { element in
                if isDropping, try isUnwanted(element) { return nil }
                isDropping = false
                return element
            }
        })
    }
}
