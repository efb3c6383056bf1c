import BLERadio

extension BLEStream {
    /// At most one element per interval: the first immediately, then the latest of those that arrived in each interval.
    ///
    /// For values that arrive faster than needed, on a screen or in a log. The latest value is never more than one
    /// interval late.
    ///
    /// - Parameter interval: the least time between two elements.
    /// - End: with the upstream; a held element is then delivered immediately.
    /// - Throw: an error of the upstream passes, after a held element.
    /// - A gap comes behind the elements that came before it, also behind one that is held.
    /// - Cancellation and an early `break` close the upstream at once and stop the timer.
    public func throttle(for interval: Duration) -> BLEStream<Element> {
        let timeline = timeline
        return lift { upstream, waker in
            let held = HeldElement(upstream, timeline: timeline, waker: waker)
            var isFree = Duration.zero
            return held.cursor {
                while let element = try held.next() {
                    let now = timeline.now
                    if let gap = held.hold(element, until: isFree) { return .gap(gap) }
                    if now >= isFree {
                        held.drop()
                        isFree = now + interval
                        return .element(element)
                    }
                    if Task.isCancelled { return .pending }
                }
                let released = try held.release()
                if case .element = released { isFree = timeline.now + interval }
                return released
            }
        }
    }
}
