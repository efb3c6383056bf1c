import BLERadio

/// Receives the events of a central: for logs, metrics and traces.
///
/// ```swift
/// struct Printing: EventHandler {
///     func handle(_ event: Central.Event) { if event.level >= .notice { print(event.level, event) } }
/// }
/// let central = try await Central.open(.default.reporting(to: Printing()))
/// ```
///
/// ``MetricsPage`` and ``FlightRecorder`` are handlers. `Examples/Integrations` has those of swift-log, swift-metrics
/// and swift-distributed-tracing. Without a handler, nothing is measured and events cost nothing.
public protocol EventHandler: Sendable {
    /// Handles an event. It is called in order for each link, from several threads and tasks, including the radio's
    /// thread: it must not block or call the central. A ``Central/Event/Kind/operation(_:took:error:)`` is reported in
    /// the task of the operation, so task-local values are those of its caller.
    func handle(_ event: Central.Event)
}

extension AdapterChoice {
    /// The same adapter, with a handler for the events of the central that is opened on it. Several handlers may be
    /// added.
    public func reporting(to handler: any EventHandler) -> AdapterChoice {
        // The radio is observed once, however many handlers there are.
        let radios = events.isEmpty ? observed { EventTap($0.timeline) } : self
        return AdapterChoice(
            isOfThisMachine: isOfThisMachine,
            events: events + [handler],
            awaitRadio: radios.awaitRadio,
            makeRadio: radios.makeRadio
        )
    }

    /// Whether this object is one of the handlers already. Handlers that are values can't be told apart.
    func reports(to handler: any EventHandler) -> Bool {
        guard type(of: handler) is AnyClass else { return false }
        return events.contains { type(of: $0) is AnyClass && $0 as AnyObject === handler as AnyObject }
    }
}
