internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Detects on the management socket that an adapter that is on doesn't work: unanswered commands, and a discovery that
/// the kernel should have ended.
final class SymptomWatch: Sendable {
    private struct State {
        var observers = Observers<EventSink<AdapterInfo.Symptom>>()
        /// The discovery that is under way, and the timer of its limit.
        var discovery: (number: Int, timer: RadioActivity)?
        var discoveries = 0
        var events: RadioActivity?
    }

    /// Far more than the kernel's 10.24 s, even with a connection attempt in its way.
    static let longestDiscovery = Duration.seconds(60)

    private let management: ManagementSocket?
    private let timeline: any Timeline
    private let state = Mutex(State())

    init(management: ManagementSocket?, timeline: any Timeline) {
        self.management = management
        self.timeline = timeline
        guard let management else { return }
        management.tellOfUnanswered { [weak self] opcode in self?.tell(.unanswered("\(opcode)")) }
        let events = management.observe { [weak self] events in
            for event in events { self?.saw(event.event) }
        } lost: { [weak self] _ in
            // The end of the discovery may be among them.
            self?.forgetDiscovery()
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
        forgetDiscovery()
        if isOn { timeDiscovery() }
    }

    private func timeDiscovery() {
        let number = state.withLock { state in
            state.discoveries += 1
            return state.discoveries
        }
        let timer = timeline.schedule(afterAwake: Self.longestDiscovery) { [weak self] in
            self?.discoveryGoesOn(number)
        }
        state.withLock { $0.discovery = (number, timer) }
    }

    private func forgetDiscovery() {
        let former = state.withLock { state in
            defer { state.discovery = nil }
            return state.discovery
        }
        former?.timer.cancel()
    }

    /// Its end may be waiting to be read: a program that was stopped learns of that and of its timer's end at once.
    private func discoveryGoesOn(_ number: Int) {
        management?.whenRead { [weak self] in
            guard let self, state.withLock({ $0.discovery?.number == number }) else { return }
            tell(.scanWithoutEnd(Self.longestDiscovery))
        }
    }

    /// Tells all observers of a symptom, which need not have been seen here; on the loop's thread.
    func tell(_ symptom: AdapterInfo.Symptom) {
        for observer in state.withLock({ $0.observers.all }) { observer.send(symptom) }
    }
}
