import Synchronization

// What has become of the values.
extension Mailbox {
    /// The counts of the values so far.
    var counters: StreamCounters {
        state.withLock { state in
            var counters = StreamCounters()
            counters.received = state.received
            counters.dropped = state.dropped
            counters.highWaterMark = state.highWaterMark
            // What could be displaced is in hand behind a gap: it has no place in the buffer any more.
            let waiting = keepsWhatItHas ? waiting(in: state) : state.buffer.count
            counters.delivered = state.received - state.dropped - waiting
            return counters
        }
    }

    /// Whether there are elements that the consumer has not used.
    var hasWaiting: Bool { state.withLock { state in waiting(in: state) > 0 } }

    func waiting(in state: borrowing State) -> Int { state.buffer.count + inHand.load(ordering: .relaxed) }
}
