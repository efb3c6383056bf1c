import BLERadio

extension BLEStream {
    /// The same elements through a buffer with a policy of its own, behind the operators so far.
    ///
    /// For what the source can't know: keep the newest message that is assembled, the newest 10 decoded values. Each
    /// time when the consumer asks, all that has come is moved here first; in between it waits in the source's own
    /// buffer, whose policy holds too. ``counters`` of the result are those of this buffer.
    ///
    /// - End: with the upstream, after what is in the buffer.
    /// - Throw: an error of the upstream passes, after what is in the buffer; with `.fail`, ``BLEError/Code/overflow``.
    /// - Cancellation and an early `break` close the upstream at once; what is in the buffer is dropped, and counted.
    public func buffered(_ policy: BufferPolicy) -> BLEStream<Element> {
        let (openUpstream, subject) = (open, subject)
        let tally = Tally()
        let open: @Sendable (Waker) -> Cursor<Element> = { waker in
            let upstream = openUpstream(waker)
            // Filled by the consumer itself, who needs no waking.
            let mailbox = Mailbox<Element>(policy: policy, waker: Waker {}, subject: subject, tally: tally)
            let buffer = mailbox.cursor(onClose: upstream.close)
            var isOver = false
            func fill() throws {
                while !isOver {
                    switch try upstream.poll() {
                    case .element(let element): isOver = !mailbox.send(element)
                    case .gap(let gap): mailbox.pass(gap)
                    case .pending: return
                    case .end:
                        mailbox.finish()
                        isOver = true
                    }
                    if Task.isCancelled { return }
                }
            }
            return Cursor(
                poll: {
                    do {
                        try fill()
                    } catch {
                        isOver = true
                        mailbox.finish(throwing: error)
                    }
                    return try buffer.poll()
                },
                unfinished: upstream.unfinished,
                stop: upstream.stop,
                close: buffer.close
            )
        }
        return BLEStream(subject, timeline: timeline, count: { tally.counters }, open: open)
    }
}
