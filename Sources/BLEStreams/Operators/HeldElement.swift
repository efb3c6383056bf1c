import BLERadio

/// An element that is kept back for a while, and what the upstream said after it; for `debounce` and `throttle`.
final class HeldElement<Element: Sendable> {
    private let upstream: Cursor<Element>
    private let timeline: any Timeline
    private let alarm: Alarm
    private var held: (element: Element, due: Duration)?
    /// What the upstream said last, when it was no element.
    private var state = Polled<Element>.pending
    private var failure: (any Error)?

    init(_ upstream: Cursor<Element>, timeline: any Timeline, waker: Waker) {
        self.upstream = upstream
        self.timeline = timeline
        alarm = Alarm(timeline: timeline, waker: waker)
    }

    /// The next element of the upstream; `nil` when there is none now: then `release` says what there is.
    func next() throws -> Element? {
        if failure != nil { return nil }
        if case .end = state { return nil }
        do {
            state = try upstream.poll()
        } catch {
            failure = error
            state = .end
        }
        guard case .element(let element) = state else { return nil }
        return element
    }

    /// Keeps an element back, in place of the one that was.
    func hold(_ element: Element, until due: Duration) { held = (element, due) }

    /// Forgets the element that is kept back.
    func drop() { held = nil }

    /// The element, once it is due or nothing can follow it any more; otherwise what the upstream said.
    func release() throws -> Polled<Element> {
        switch state {
        case .pending, .element:
            guard let (element, due) = held else { return .pending }
            let now = timeline.now
            guard now >= due else {
                alarm.ring(at: due, now: now)
                return .pending
            }
            held = nil
            return .element(element)
        case .gap: return state
        case .end:
            if let element = held.take()?.element { return .element(element) }
            if let failure { throw failure }
            return .end
        }
    }

    /// A cursor over the upstream that answers what `poll` does.
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
