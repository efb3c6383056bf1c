import BLERadio

extension BLEStream {
    /// An element once no other has followed it for some time: for values that bounce before they settle.
    ///
    /// - Parameter quiet: how long no element may follow; counted from when the consumer's task sees the element.
    /// - End: with the upstream; the last element is then delivered immediately.
    /// - Throw: an error of the upstream passes, after the last element.
    /// - A gap comes behind the elements that came before it, also behind one that is held.
    /// - Cancellation and an early `break` close the upstream at once and stop the timer.
    public func debounce(for quiet: Duration) -> BLEStream<Element> {
        let timeline = timeline
        return lift { upstream, waker in
            let held = HeldElement(upstream, timeline: timeline, waker: waker)
            return held.cursor {
                while let element = try held.next() {
                    if let gap = held.hold(element, until: timeline.now + quiet) { return .gap(gap) }
                    if Task.isCancelled { return .pending }
                }
                return try held.release()
            }
        }
    }
}
