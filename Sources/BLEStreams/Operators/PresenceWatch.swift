import BLERadio

/// One iteration of ``BLEStream/presence(by:timeout:limit:)``.
final class PresenceWatch<Key: Hashable & Sendable, Element: Sendable> {
    private let upstream: Cursor<Element>
    private let key: (Element) throws -> Key
    private let timeout: Duration
    private let limit: Int
    private let timeline: any Timeline
    private let alarm: Alarm
    private let ignored: () -> Void
    private var present = RecencyTable<Key, Element>()
    /// A new key that has no room, while another one leaves.
    private var newcomer: (key: Key, element: Element)?

    init(
        _ upstream: Cursor<Element>,
        _ key: @escaping (Element) throws -> Key,
        timeout: Duration,
        limit: Int,
        _ timeline: any Timeline,
        _ alarm: Alarm,
        _ ignored: @escaping () -> Void
    ) {
        self.upstream = upstream
        self.key = key
        self.timeout = timeout
        self.limit = limit
        self.timeline = timeline
        self.alarm = alarm
        self.ignored = ignored
    }

    func poll() throws -> Polled<Presence<Key, Element>> {
        if let (key, element) = newcomer.take() { return came(key, element) }
        switch try upstream.poll() {
        case .element(let element): return came(try key(element), element)
        case .gap(let gap): return .gap(gap)
        // It may have given up because of that, and have more for another consumer of a shared stream.
        case .pending where Task.isCancelled: return .pending
        case .pending: return leave() ?? .pending
        case .end: return .end
        }
    }

    private func came(_ key: Key, _ element: Element) -> Polled<Presence<Key, Element>> {
        let now = timeline.now
        if present.renew(key, element, at: now) { return .element(.update(key, element)) }
        if present.count < limit {
            present.insert(key, element, at: now)
            return .element(.enter(key, element))
        }
        if let leave = leave() {
            newcomer = (key, element)
            return leave
        }
        ignored()
        return .gap(StreamGap(dropped: 1))
    }

    /// Removes the key that has been silent longest, if it is due; if not, the consumer will be woken then.
    private func leave() -> Polled<Presence<Key, Element>>? {
        guard let (key, element, seen) = present.oldest else { return nil }
        let now = timeline.now
        guard now >= seen + timeout else {
            alarm.ring(at: seen + timeout, now: now)
            return nil
        }
        present.remove(key)
        return .element(.leave(key, last: element))
    }
}
