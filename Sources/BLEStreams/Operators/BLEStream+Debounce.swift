import BLERadio

extension BLEStream {
    /// An element only when no other has followed it for a while: for values that bounce before they come to rest.
    ///
    /// - Parameter quiet: for how long nothing must follow; counted from when the consumer's task sees the element.
    /// - End: with the upstream; the last element is handed out at once then.
    /// - Throw: an error of the upstream passes, behind the last element.
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
