import BLERadio

/// Hears what happens on a central: for logs, metrics and traces.
///
/// ```swift
/// struct Printing: EventHandler {
///     func handle(_ event: Central.Event) { if event.level >= .notice { print(event.level, event) } }
/// }
/// let central = try await Central.open(.default.reporting(to: Printing()))
/// ```
///
/// ``MetricsPage`` is one, and so is ``FlightRecorder``. `Examples/Integrations` has those of swift-log, swift-metrics and
/// swift-distributed-tracing. Without a handler, nothing is measured and nothing is spent.
public protocol EventHandler: Sendable {
    /// Takes an event. Called in the order of what happens on one link, from several threads and tasks, the radio's thread among
    /// them: it must not block, nor call the central. A ``Central/Event/Kind/operation(_:took:error:)`` is told in the task
    /// of the operation, so that task-local values are those of its caller.
    func handle(_ event: Central.Event)
}

extension AdapterChoice {
    /// The same adapter, with a handler of the events of the central that is opened on it. Several handlers may be added.
    public func reporting(to handler: any EventHandler) -> AdapterChoice {
        // The radio is observed once, however many want to hear of it.
        let radios = events.isEmpty ? observed { EventTap($0.timeline) } : self
        return AdapterChoice(
            isOfThisMachine: isOfThisMachine,
            events: events + [handler],
            awaitRadio: radios.awaitRadio,
            makeRadio: radios.makeRadio
        )
    }
}
