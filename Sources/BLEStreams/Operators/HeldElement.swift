import BLERadio

/// An element that is held for a while, and the upstream's answer after it; for `debounce` and `throttle`.
final class HeldElement<Element: Sendable> {
    private let upstream: Cursor<Element>
    private let timeline: any Timeline
    private let alarm: Alarm
    private var held: (element: Element, due: Duration)?
    /// A gap that the upstream has reported: behind the held element, if there is one.
    private var gap: StreamGap?
    /// The upstream's last answer that was not a gap.
    private var state = Polled<Element>.pending
    private var failure: (any Error)?

    init(_ upstream: Cursor<Element>, timeline: any Timeline, waker: Waker) {
        self.upstream = upstream
        self.timeline = timeline
        alarm = Alarm(timeline: timeline, waker: waker)
    }

    /// The next element of the upstream; `nil` if there is none now: then call `release`.
    func next() throws -> Element? {
        if case .end = state { return nil }
        repeat {
            do {
                switch try upstream.poll() {
                case .gap(let next): gap = gap?.merged(with: next) ?? next
                case let polled:
                    state = polled
                    guard case .element(let element) = polled else { return nil }
                    return element
                }
            } catch {
                failure = error
                state = .end
                return nil
            }
        } while held != nil && !Task.isCancelled
        return nil
    }

    /// Holds an element, in place of the former one.
    ///
    /// - Returns: the gap between the two, to be delivered before this one; `nil` if there is none.
    func hold(_ element: Element, until due: Duration) -> StreamGap? {
        held = (element, due)
        return gap.take()
    }

    /// Drops the held element.
    func drop() { held = nil }

    /// The held element, once it is due or nothing can follow it, and then the gap behind it; otherwise the upstream's
    /// answer.
    func release() throws -> Polled<Element> {
        if held == nil, let gap = gap.take() { return .gap(gap) }
        switch state {
        case .pending, .element, .gap:
            guard let (element, due) = held else { return .pending }
            let now = timeline.now
            guard now >= due else {
                alarm.ring(at: due, now: now)
                return .pending
            }
            // The upstream may have given up because of that, and have more for another consumer of a shared stream.
            if Task.isCancelled { return .pending }
            held = nil
            return .element(element)
        case .end:
            if let element = held.take()?.element { return .element(element) }
            if let failure { throw failure }
            return .end
        }
    }

    /// A cursor over the upstream with this `poll`.
    func cursor(_ poll: @escaping () throws -> Polled<Element>) -> Cursor<Element> {
        let (upstream, alarm) = (upstream, alarm)
        return Cursor(
            poll: poll,
            unfinished: upstream.unfinished,
            stop: upstream.stop,
            close: {
                alarm.stop()
                upstream.close()
            }
        )
    }
}
