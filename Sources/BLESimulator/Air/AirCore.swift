internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// The air itself: its state behind one lock, one timer for the next event, and the deliveries, made one at a time on
/// the timeline's context without the lock.
final class AirCore: Sendable {
    private struct Guarded {
        var state: AirState
        var alarm: (due: Duration, timer: RadioActivity)?
        var isDelivering = false

        /// The storage of earlier deliveries, to be reused.
        var spare: [Delivery] = []
    }

    let timeline: any Timeline
    private let guarded: Mutex<Guarded>

    init(timeline: any Timeline) {
        self.timeline = timeline
        guarded = Mutex(Guarded(state: AirState(timeline: timeline)))
        (timeline as? VirtualTime)?.whenOver { [weak self] in self?.letReceiversGo() }
    }

    /// Lets the receivers of links go that are up when virtual time is over: they are told nothing any more, and a
    /// receiver refers to its link, and so to the air.
    private func letReceiversGo() {
        let receivers = guarded.withLock { $0.state.takeReceivers() }
        // Released outside the lock: a released link closes itself.
        withExtendedLifetime(receivers) {}
    }

    /// Changes the state, and schedules what follows from the change.
    ///
    /// The closure must not release anything that others own: a link deallocated there would take the lock again.
    func perform<Value: Sendable>(_ body: (inout AirState) -> Value) -> Value {
        let (result, obsolete) = guarded.withLock { guarded in
            guarded.state.now = timeline.now
            let result = body(&guarded.state)
            return (result, setAlarm(&guarded))
        }
        obsolete?.cancel()
        return result
    }

    /// Sets the timer for the next event. Returns the timer that is no longer needed.
    private func setAlarm(_ guarded: inout Guarded) -> RadioActivity? {
        guard !guarded.isDelivering else { return nil }
        guard let due = guarded.state.nextDue else {
            defer { guarded.alarm = nil }
            return guarded.alarm?.timer
        }
        if let alarm = guarded.alarm, alarm.due <= due { return nil }
        let timer = timeline.schedule(after: due - timeline.now) { [weak self] in self?.wakeUp() }
        defer { guarded.alarm = (due, timer) }
        return guarded.alarm?.timer
    }

    /// Does what is due, and delivers the events that result.
    private func wakeUp() {
        var (deliveries, alarm) = guarded.withLock { guarded in
            let alarm = guarded.alarm
            guarded.alarm = nil
            guarded.isDelivering = true
            guarded.state.now = timeline.now
            guarded.state.runDueEntries()
            let deliveries = guarded.state.outbox
            guarded.state.outbox = guarded.spare
            guarded.spare = []
            return (deliveries, alarm)
        }
        for delivery in deliveries { deliver(delivery) }
        deliveries.removeAll(keepingCapacity: true)
        let obsolete = guarded.withLock { guarded in
            guarded.isDelivering = false
            guarded.spare = deliveries
            guarded.state.now = timeline.now
            return setAlarm(&guarded)
        }
        alarm?.timer.cancel()
        obsolete?.cancel()
    }

    // MARK: - Deliveries

    private func deliver(_ delivery: Delivery) {
        switch delivery {
        case .adapter(let id, let info):
            if case .observe(let events) = listener(id) { events(info) }
        case .scan(let id, let event):
            if case .scan(_, let events) = listener(id, isLast: event.isLast) { events(event) }
        case .listen(let id, let event):
            if case .listen(let events) = listener(id, isLast: event.isLast) { events(event) }
        case .advertise(let id, let event):
            if case .advertise(_, let events) = listener(id, isLast: event.isLast) { events(event) }
        case .connectFailed(let id, let error):
            if case .connect(_, let result) = listener(id, isLast: true) { result(.failure(error)) }
        case .connected(let id, let end):
            // If the attempt was cancelled meanwhile, nobody owns this link: releasing it closes it.
            let link = SimulatedLink(core: self, id: end)
            if case .connect(_, let result) = listener(id, isLast: true) { result(.success(link)) }
        case .accepted(let id, let end):
            let link = SimulatedLink(core: self, id: end)
            if case .listen(let events) = listener(id) { events(.accepted(link)) }
        case .link(let end):
            deliverNews(to: end)
        case .paired(let id, let outcome):
            if case .pair(let pairing) = listener(id, isLast: true) { pairing.result(outcome) }
        case .pairingAsks(let id, let question):
            guard case .pair(let pairing) = listener(id) else { return }
            pairing.interview.ask(question) { [weak self] answer in self?.perform { $0.answer(answer, in: id) } }
        case .receptionAsks(let id, let pairing, let interview, let question):
            guard case .receivePairings = listener(id) else { return }
            interview.ask(question) { [weak self] answer in
                self?.perform { $0.answerAsPeripheral(answer, in: pairing) }
            }
        case .reception(let id, let event):
            if case .receivePairings(_, let events) = listener(id, isLast: event.isLast) { events(event) }
        case .encrypted(let outcome, let result):
            result(outcome)
        case .rssi(let level, let result):
            result(level)
        case .symptom(let symptom, let events):
            events(symptom)
        case .done(let done):
            done()
        case .conditions(let conditions, let result):
            result(conditions)
        }
    }

    /// The closure that an activity reports to; `nil` if it was cancelled. The last event removes the activity.
    private func listener(_ id: ActivityID, isLast: Bool = false) -> Activity.Kind? {
        guarded.withLock { guarded in
            isLast
                ? guarded.state.activities.removeValue(forKey: id)?.kind
                : guarded.state.activities[id]?.kind
        }
    }

    private func deliverNews(to end: LinkEndID) {
        guard let news = guarded.withLock({ $0.state.takeNews(for: end) }) else { return }
        news.inbox.deliver(to: news.receiver)
        if news.isWritable { news.receiver.linkBecameWritable() }
        for error in news.encryptionFailures { news.receiver.linkEncryptionFailed(error) }
        guard let reason = news.end else { return }
        news.receiver.linkEnded(reason)
        guarded.withLock { $0.state.finish(end) }
    }
}

extension ScanEvent {
    fileprivate var isLast: Bool { if case .failed = self { true } else { false } }
}

extension ListenEvent {
    fileprivate var isLast: Bool { if case .failed = self { true } else { false } }
}

extension PairingReceptionEvent {
    fileprivate var isLast: Bool { if case .ended = self { true } else { false } }
}

extension AdvertiseEvent {
    fileprivate var isLast: Bool { if case .failed = self { true } else { false } }
}
