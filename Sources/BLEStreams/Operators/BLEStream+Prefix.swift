extension BLEStream {
    /// The first `count` elements, 0 or more; the upstream is closed together with the last of them.
    ///
    /// - End: after `count` elements, or with the upstream. With 0 the upstream is never opened.
    /// - Throw: an error of the upstream passes. Cancellation and an early `break` close the upstream at once.
    public func prefix(_ count: Int) -> BLEStream<Element> {
        precondition(count >= 0, "a stream can't have a negative number of elements")
        guard count > 0 else {
            return BLEStream(subject, timeline: timeline) { _ in Cursor(poll: { .end }, close: {}) }
        }
        return lift { upstream, _ in
            var left = count
            return Cursor(
                poll: {
                    guard left > 0 else { return .end }
                    let polled = try upstream.poll()
                    if case .element = polled {
                        left -= 1
                        if left == 0 { upstream.close() }
                    }
                    return polled
                },
                unfinished: upstream.unfinished,
                close: upstream.close
            )
        }
    }

    /// The elements until one meets the condition; the upstream is closed together with it.
    ///
    /// - Parameter isLast: the element for which it is true is the last one, and `including` says whether it is
    ///   handed out too.
    /// - End: after that element, or with the upstream. Throw: errors of the upstream and of the condition pass.
    /// - Cancellation and an early `break` close the upstream at once.
    public func take(
        including: Bool = true,
        until isLast: @escaping @Sendable (Element) throws -> Bool
    ) -> BLEStream<Element> {
        lift { upstream, _ in
            var isOver = false
            return Cursor(
                poll: {
                    guard !isOver else { return .end }
                    let polled = try upstream.poll()
                    guard case .element(let element) = polled, try isLast(element) else { return polled }
                    isOver = true
                    upstream.close()
                    return including ? polled : .end
                },
                unfinished: upstream.unfinished,
                close: upstream.close
            )
        }
    }

    /// The elements until another stream brings its first one; both are then closed.
    ///
    /// - End: with the first element of the other stream, or with the upstream. What the upstream has received before
    ///   is handed out first. The other stream's end changes nothing.
    /// - Throw: errors of both streams pass. Cancellation and an early `break` close both at once.
    public func take<Other: Sendable>(until other: BLEStream<Other>) -> BLEStream<Element> {
        lift { upstream, waker in
            let signal = other.open(waker)
            let (closeUpstream, closeSignal) = (upstream.close, signal.close)
            let close: @Sendable () -> Void = {
                closeUpstream()
                closeSignal()
            }
            var isSignalOver = false
            return Cursor(
                poll: {
                    let polled = try upstream.poll()
                    guard case .pending = polled, !isSignalOver else { return polled }
                    switch try signal.poll() {
                    case .pending: return .pending
                    case .element:
                        close()
                        return .end
                    case .end:
                        isSignalOver = true
                        return .pending
                    }
                },
                unfinished: upstream.unfinished,
                close: close
            )
        }
    }
}
