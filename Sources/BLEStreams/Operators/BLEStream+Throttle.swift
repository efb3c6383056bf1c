import BLERadio

extension BLEStream {
    /// At most one element in an interval: the first at once, then the latest of those that came in each interval.
    ///
    /// For values that come faster than they are wanted, on a screen or in a log. The present one is never more than
    /// an interval late.
    ///
    /// - Parameter interval: the least time between two elements.
    /// - End: with the upstream; an element that is held is handed out at once then.
    /// - Throw: an error of the upstream passes, behind the element that is held.
    /// - Cancellation and an early `break` close the upstream at once and stop the timer.
    public func throttle(for interval: Duration) -> BLEStream<Element> {
        let timeline = timeline
        return lift { upstream, waker in
            let held = HeldElement(upstream, timeline: timeline, waker: waker)
            var isFree = Duration.zero
            return held.cursor {
                while let element = try held.next() {
                    let now = timeline.now
                    if now >= isFree {
                        held.drop()
                        isFree = now + interval
                        return .element(element)
                    }
                    held.hold(element, until: isFree)
                    if Task.isCancelled { return .pending }
                }
                let released = try held.release()
                if case .element = released { isFree = timeline.now + interval }
                return released
            }
        }
    }
}
