import BLERadio

extension BLEStream {
    /// An element once no other has followed it for some time: for values that bounce before they settle.
    ///
    /// - Parameter quiet: how long no element may follow; counted from when the consumer's task sees the element.
    /// - End: with the upstream; the last element is then delivered immediately.
    /// - Throw: an error of the upstream passes, after the last element.
    /// - Cancellation and an early `break` close the upstream at once and stop the timer.
    public func debounce(for quiet: Duration) -> BLEStream<Element> {
        let timeline = timeline
        return lift { upstream, waker in
            let held = HeldElement(upstream, timeline: timeline, waker: waker)
            return held.cursor {
                while let element = try held.next() {
                    held.hold(element, until: timeline.now + quiet)
                    if Task.isCancelled { return .pending }
                }
                return try held.release()
            }
        }
    }
}
