public import BLEProtocol
import BLERadio

extension BLEStream {
    /// Starts the stream again when it fails, after a pause.
    ///
    /// The elements of the new iteration follow those already delivered. Values that the peer sends in the meantime are
    /// lost: ``withGaps()`` shows where, once the first element behind the gap has come; a consumer that leaves at the
    /// gap drops that element, also one of a session's planned subscription. The count of failures, which lengthens
    /// pauses and uses up attempts, restarts once the stream has worked for the policy's `stableAfter`, counted from
    /// its first element.
    ///
    /// - Parameters:
    ///   - policy: how often, and after what pause.
    ///   - isWorthwhile: whether another attempt may cure an error; by default, all errors except those with
    ///     ``BLEError/isFinal``.
    /// - End: with the upstream. Once a later operator such as ``prefix(for:)`` stops it, it opens no more: an error
    ///   that it would have retried ends it, too.
    /// - Throw: the last error, when the attempts are used up or another one isn't worthwhile. `CancellationError` is
    ///   never retried.
    /// - Cancellation and an early `break` close the upstream, or stop the pause.
    @inlinable
    public func retry(
        _ policy: RetryPolicy = .exponential(),
        when isWorthwhile: @escaping @Sendable (any Error) -> Bool = { ($0 as? BLEError)?.isFinal != true }
    ) -> BLEStream<Element> {
        let (open, timeline) = (open, timeline)
        return BLEStream(subject, timeline: timeline, counting: counting) { waker in
            let pause = RetryPause(policy, isWorthwhile, timeline: timeline, waker: waker)
            let retrying = Retrying(pause) { open(waker) }
            return Cursor(
                poll: { try retrying.next() },
                unfinished: retrying.unfinished,
                stop: retrying.stop,
                close: retrying.close
            )
        }
    }
}

/// One iteration of a retried stream: the open upstream, or the pause before the next one.
@usableFromInline
final class Retrying<Element: Sendable> {
    @usableFromInline let pause: RetryPause

    /// Polls the upstream while it works.
    @usableFromInline private(set) var poll: (() throws -> Polled<Element>)?
    private var upstream: Cursor<Element>?

    /// The first element after a failure, while the gap before it is delivered.
    private var held: Element?
    private var isStopped = false
    private let open: () -> Cursor<Element>

    @usableFromInline
    init(_ pause: RetryPause, open: @escaping () -> Cursor<Element>) {
        self.pause = pause
        self.open = open
    }

    @inlinable
    func next() throws -> Polled<Element> {
        if let poll {
            do { return try poll() } catch { try failed(with: error) }
        }
        return try nextInFailure()
    }

    /// Opens the upstream once the pause is over, and reports the gap when an element arrives.
    @usableFromInline
    func nextInFailure() throws -> Polled<Element> {
        if let element = held.take() {
            poll = upstream?.poll
            return .element(element)
        }
        while true {
            guard let upstream else {
                if isStopped { return .end }
                guard pause.isOver() else { return .pending }
                upstream = open()
                continue
            }
            do {
                let polled = try upstream.poll()
                guard case .element(let element) = polled else { return polled }
                guard let gap = pause.succeeded() else {
                    poll = upstream.poll
                    return polled
                }
                held = element
                return .gap(gap)
            } catch {
                try failed(with: error)
            }
        }
    }

    /// Closes the upstream for another attempt, also where a stop has come before that: a consumer that was busy then
    /// sees what one that had waited would have seen. If an attempt isn't worthwhile, throws the error, and leaves the
    /// upstream open until ``close()``.
    @usableFromInline
    func failed(with error: any Error) throws {
        // What is thrown may be dropped by another `retry`, which then closes everything.
        guard pause.failed(with: error) else { throw error }
        pause.waker.dropError(closeUpstream)
    }

    @usableFromInline
    func unfinished(_ scope: UnfinishedScope) -> UnfinishedParts { upstream?.unfinished(scope) ?? UnfinishedParts() }

    @usableFromInline
    func stop() {
        isStopped = true
        pause.stop()
        upstream?.stop()
    }

    @usableFromInline
    func close() {
        pause.stop()
        closeUpstream()
    }

    private func closeUpstream() {
        upstream?.close()
        upstream = nil
        poll = nil
    }
}
