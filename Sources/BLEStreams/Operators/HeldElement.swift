import BLERadio

/// An element that is held for a while, and the upstream's answer after it; for `debounce` and `throttle`.
final class HeldElement<Element: Sendable> {
    private let upstream: Cursor<Element>
    private let timeline: any Timeline
    private let alarm: Alarm
    private var held: (element: Element, due: Duration)?
    /// The upstream's last answer that was not an element.
    private var state = Polled<Element>.pending
    private var failure: (any Error)?

    init(_ upstream: Cursor<Element>, timeline: any Timeline, waker: Waker) {
        self.upstream = upstream
        self.timeline = timeline
        alarm = Alarm(timeline: timeline, waker: waker)
    }

    /// The next element of the upstream; `nil` if there is none now: then call `release`.
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

    /// Holds an element, in place of the former one.
    func hold(_ element: Element, until due: Duration) { held = (element, due) }

    /// Drops the held element.
    func drop() { held = nil }

    /// The held element, once it is due or nothing can follow it; otherwise the upstream's answer.
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
