import BLERadio

extension BLEStream {
    /// The same elements through another buffer with its own policy, placed after the operators so far.
    ///
    /// For policies that the source can't apply: keep the newest assembled message, or the newest 10 decoded values.
    /// Each time the consumer asks for an element, everything that has arrived is first moved to this buffer; in
    /// between it waits in the source's own buffer, whose policy also applies. ``counters`` of the result are those of
    /// this buffer.
    ///
    /// - End: with the upstream, after the content of the buffer.
    /// - Throw: an error of the upstream passes, after the content of the buffer; with `.fail`,
    ///   ``BLEError/Code/overflow``.
    /// - Cancellation and an early `break` close the upstream at once; the content of the buffer is dropped and
    ///   counted.
    public func buffered(_ policy: BufferPolicy) -> BLEStream<Element> {
        let (openUpstream, subject) = (open, subject)
        let tally = Tally()
        let open: @Sendable (Waker) -> Cursor<Element> = { waker in
            let upstream = openUpstream(waker)
            // The consumer fills it, and needs no wake-up.
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
                place: upstream.place,
                stop: upstream.stop,
                close: {
                    // What waits here is dropped with an error that nobody gets. It may end in the middle of a message.
                    if waker.dropsError, mailbox.hasWaiting { upstream.place?.leavesInMessage = true }
                    buffer.close()
                }
            )
        }
        return BLEStream(subject, timeline: timeline, counting: StreamCounting(tally), open: open)
    }
}
