import MQTT
import Synchronization

/// An outbox of a list of messages in memory, and what becomes of them.
final class ListOutbox: MQTTOutbox {
    struct State {
        var waiting: [MQTTMessage] = []
        var inFlight: [UInt64: MQTTMessage] = [:]
        var most = 0
        var acknowledged: [MQTTMessage] = []
        var refused: [MQTTError] = []
        var next: UInt64 = 0
    }

    private let state: Mutex<State>
    private let changes = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    init(_ messages: [MQTTMessage] = []) { state = Mutex(State(waiting: messages)) }

    /// What has become of the messages.
    var now: State { state.withLock { $0 } }

    /// Waits until something is so; for one caller.
    func wait(until isSo: (State) -> Bool) async {
        if isSo(now) { return }
        for await _ in changes.stream where isSo(now) { return }
    }

    func add(_ messages: [MQTTMessage]) { state.withLock { $0.waiting += messages } }

    func connected() { changes.continuation.yield() }

    func next() -> MQTTOutgoing? {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            state.next += 1
            let message = state.waiting.removeFirst()
            state.inFlight[state.next] = message
            state.most = max(state.most, state.inFlight.count)
            return MQTTOutgoing(state.next, message)
        }
    }

    func acknowledged(_ token: UInt64) {
        state.withLock { state in
            if let message = state.inFlight.removeValue(forKey: token) { state.acknowledged.append(message) }
        }
        changes.continuation.yield()
    }

    func refused(_ token: UInt64, _ error: MQTTError) {
        state.withLock { state in
            state.inFlight[token] = nil
            state.refused.append(error)
        }
        changes.continuation.yield()
    }

    func interrupted() {
        state.withLock { state in
            state.waiting = state.inFlight.sorted { $0.key < $1.key }.map(\.value) + state.waiting
            state.inFlight = [:]
        }
        changes.continuation.yield()
    }
}

/// Runs a client while the closure runs.
func running<Output: Sendable>(
    _ client: MQTTClient,
    _ body: @Sendable @escaping () async throws -> Output
) async throws -> Output {
    try await withThrowingTaskGroup(of: Output?.self) { group in
        group.addTask {
            await client.run()
            return nil
        }
        defer { group.cancelAll() }
        return try await body()
    }
}

/// Runs a client until it has, or has lost, no connection; returns why.
func disconnection(of client: MQTTClient) async throws -> MQTTError {
    let event = try await running(client) {
        await client.events.first { if case .disconnected = $0 { true } else { false } }
    }
    guard case .disconnected(let error, _) = event else { throw NoEvent() }
    return error
}

/// The client has ended without having told of anything.
struct NoEvent: Error {}

extension AsyncStream<MQTTEvent> {
    /// Waits for an event.
    func first(_ isWanted: (MQTTEvent) -> Bool) async -> MQTTEvent? {
        for await event in self where isWanted(event) { return event }
        return nil
    }
}
