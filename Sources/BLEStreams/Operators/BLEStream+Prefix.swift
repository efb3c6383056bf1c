import BLEProtocol
import BLERadio

extension BLEStream {
    /// The first `count` elements, 0 or more; the upstream is closed with the last of them.
    ///
    /// - End: after `count` elements, or with the upstream. With 0 the upstream is never opened.
    /// - Throw: an error of the upstream passes.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func prefix(_ count: Int) -> BLEStream<Element> {
        precondition(count >= 0, "a stream can't have a negative number of elements")
        guard count > 0 else {
            return BLEStream(subject, timeline: timeline, counting: counting) { _ in
                Cursor(poll: { .end }, stop: {}, close: {})
            }
        }
        return lift { upstream, _ in
            var left = count
            return Cursor(over: upstream) {
                guard left > 0 else { return .end }
                let polled = try upstream.poll()
                if case .element = polled {
                    left -= 1
                    if left == 0 { upstream.close() }
                }
                return polled
            }
        }
    }

    /// The elements until one meets the condition; the upstream is closed with it.
    ///
    /// - Parameters:
    ///   - including: whether the element that meets it is delivered too.
    ///   - isLast: the condition.
    /// - End: with that element, or with the upstream.
    /// - Throw: an error of the upstream passes; one of the condition ends the stream with it.
    /// - Cancellation and an early `break` close the upstream at once.
    @inlinable
    public func take(
        including: Bool = true,
        until isLast: @escaping @Sendable (Element) throws -> Bool
    ) -> BLEStream<Element> {
        lift { upstream, _ in
            var isOver = false
            return Cursor(over: upstream) {
                guard !isOver else { return .end }
                let polled = try upstream.poll()
                guard case .element(let element) = polled, try isLast(element) else { return polled }
                isOver = true
                upstream.close()
                return including ? polled : .end
            }
        }
    }

    /// The elements until another stream delivers its first one.
    ///
    /// For a status value that ends a transfer, or a button that stops a measurement.
    ///
    /// - End: with the upstream; or with the first element of the other stream: the upstream then receives no more, and
    ///   what it has received is still delivered. The end of the other stream has no effect.
    /// - Throw: errors of both streams pass. An error of the other stream comes after what this one has received, with
    ///   the part of an incomplete message in ``BLEError/received``, or in ``BLEError/receivedParts`` behind its own.
    ///   An error of this stream has that of the other one in ``BLEError/receivedParts``.
    /// - Cancellation and an early `break` close both at once.
    public func take<Other: Sendable>(until other: BLEStream<Other>) -> BLEStream<Element> {
        lift { upstream, waker in
            var signal: Cursor<Other>? = other.open(waker)
            // The signal's error, thrown behind what waits.
            var failure: (any Error)?
            // Once both were stopped: what the signal had of a message. It is closed later: an error that stops this
            // stream may yet be dropped.
            var partAtStop: UnfinishedParts?
            func closeSignal() {
                signal?.close()
                signal = nil
            }
            func signalParts(_ scope: UnfinishedScope) -> UnfinishedParts {
                if let failure { return UnfinishedParts(handedOutBy: failure) }
                return partAtStop ?? signal?.unfinished(scope) ?? UnfinishedParts()
            }
            func pollUpstream() throws -> Polled<Element> {
                do { return try upstream.poll() } catch {
                    guard var own = error as? BLEError else { throw error }
                    own.add(signalParts(.lost).all)
                    throw own
                }
            }
            func pollBeforeFailure(_ failure: any Error) throws -> Polled<Element> {
                let polled = try pollUpstream()
                // Not before its end: one that shares its source may yet be given what has come.
                guard case .end = polled else { return polled }
                guard var error = failure as? BLEError else { throw failure }
                error.handOut(upstream.unfinished(error.received == nil ? .all : .lost))
                throw error
            }
            return Cursor(
                poll: {
                    // The signal is polled first: it must also end an upstream that always has an element.
                    signals: while failure == nil, partAtStop == nil, let poll = signal?.poll {
                        do {
                            switch try poll() {
                            case .element:
                                upstream.stop()
                                closeSignal()
                            case .end: closeSignal()
                            // It may bring nothing else, and never pause.
                            case .gap: if Task.isCancelled { return .pending }
                            case .pending: break signals
                            }
                        } catch {
                            failure = error
                            upstream.stop()
                        }
                    }
                    if let failure { return try pollBeforeFailure(failure) }
                    return try pollUpstream()
                },
                unfinished: { scope in
                    var parts = upstream.unfinished(scope)
                    parts.add(signalParts(scope))
                    return parts
                },
                used: upstream.used,
                place: upstream.place,
                stop: {
                    if failure == nil, partAtStop == nil, let signal {
                        partAtStop = signal.unfinished(.lost)
                        signal.stop()
                    }
                    upstream.stop()
                },
                close: {
                    closeSignal()
                    upstream.close()
                }
            )
        }
    }
}
