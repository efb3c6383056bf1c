internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Detects on the management socket that an adapter that is on doesn't work: unanswered commands, and a discovery that
/// the kernel should have ended.
final class SymptomWatch: Sendable {
    private struct State {
        var observers = Observers<EventSink<AdapterInfo.Symptom>>()
        var discovery: RadioActivity?
        var events: RadioActivity?
    }

    /// Far more than the kernel's 10.24 s, even with a connection attempt in its way.
    static let longestDiscovery = Duration.seconds(60)

    private let timeline: any Timeline
    private let loop: EventLoop
    private let state = Mutex(State())

    init(management: ManagementSocket?, loop: EventLoop, timeline: any Timeline) {
        self.timeline = timeline
        self.loop = loop
        guard let management else { return }
        management.tellOfUnanswered { [weak self] opcode in self?.tell(.unanswered("\(opcode)")) }
        let events = management.observe { [weak self] events in
            for event in events { self?.saw(event.event) }
        }
        state.withLock { $0.events = events }
    }

    /// Reports symptoms, on the loop's thread, until the activity is cancelled.
    func observe(_ events: @escaping @Sendable (AdapterInfo.Symptom) -> Void) -> RadioActivity {
        let sink = EventSink(events)
        let id = state.withLock { $0.observers.add(sink) }
        return RadioActivity { [weak self] in
            sink.close()
            _ = self?.state.withLock { $0.observers.remove(id) }
        }
    }

    private func saw(_ event: ManagementEvent) {
        guard case .discovering(_, let isOn) = event else { return }
        let timer: RadioActivity? =
            isOn ? timeline.schedule(after: Self.longestDiscovery) { [weak self] in self?.discoveryGoesOn() } : nil
        let former = state.withLock { state in
            defer { state.discovery = timer }
            return state.discovery
        }
        former?.cancel()
    }

    private func discoveryGoesOn() {
        loop.enqueue { [weak self] in self?.tell(.scanWithoutEnd(Self.longestDiscovery)) }
    }

    private func tell(_ symptom: AdapterInfo.Symptom) {
        for observer in state.withLock({ $0.observers.all }) { observer.send(symptom) }
    }
}
