import BLERadio

extension BLEStream where Element: BinaryFloatingPoint {
    /// The mean of the last `count` elements, after each element; at first, of those that have arrived.
    ///
    /// ```swift
    /// let smooth = link.notifications(of: .heartRateMeasurement)
    ///     .map { Double($0.beatsPerMinute) }
    ///     .movingAverage(ofLast: 10)
    /// ```
    ///
    /// Each mean is computed anew from its elements, so errors don't accumulate, and a NaN is forgotten like any other
    /// value.
    ///
    /// - Parameter count: the number of elements in a mean, 1 or more.
    /// - End: with the upstream. Throw: an error of the upstream passes.
    /// - Cancellation and an early `break` close the upstream at once.
    public func movingAverage(ofLast count: Int) -> BLEStream<Element> {
        precondition(count >= 1, "a mean needs at least one element")
        return map(inEachIteration: {
            var window: [Element] = []
            // The position of the oldest element, once there are `count` of them.
            var position = 0
            return { element in
                if window.count < count {
                    window.append(element)
                } else {
                    window[position] = element
                    position = (position + 1) % count
                }
                return window.reduce(0, +) / Element(window.count)
            }
        })
    }

    /// The mean of the elements of a recent time span, after each element.
    ///
    /// ```swift
    /// let smooth = link.notifications(of: .heartRateMeasurement)
    ///     .map { Double($0.beatsPerMinute) }
    ///     .movingAverage(over: .seconds(60))
    /// ```
    ///
    /// - Parameters:
    ///   - duration: how long an element counts, from when the consumer's task sees it, on the clock of the stream's
    ///     radio. The latest one always counts.
    ///   - limit: the largest number of elements that count, the newest ones; 1 or more, 4096 by default. Each mean is
    ///     computed anew from its elements.
    /// - End: with the upstream. Throw: an error of the upstream passes.
    /// - Cancellation and an early `break` close the upstream at once.
    public func movingAverage(over duration: Duration, limit: Int = 4096) -> BLEStream<Element> {
        precondition(limit >= 1, "a mean needs at least one element")
        let timeline = timeline
        return map(inEachIteration: {
            var window: [(element: Element, seen: Duration)] = []
            return { element in
                let now = timeline.now
                let outdated = window.firstIndex { $0.seen > now - duration } ?? window.endIndex
                window.removeFirst(Swift.max(outdated, window.count + 1 - limit))
                window.append((element, now))
                return window.reduce(0) { $0 + $1.element } / Element(window.count)
            }
        })
    }
}
