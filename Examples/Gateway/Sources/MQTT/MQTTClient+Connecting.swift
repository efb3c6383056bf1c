@preconcurrency import Dispatch
import Synchronization

/// The life of a connection.
extension MQTTClient {
    private static let tick = Duration.seconds(1)

    func begin(_ state: inout ClientState) {
        guard case .idle = state.phase else { return finish(&state) }
        state.phase = .running
        connect(&state)
    }

    /// Ends the client, after the last messages.
    func end(_ state: inout ClientState) {
        switch state.phase {
        case .idle: state.phase = .ended
        case .running where state.isAccepted:
            state.phase = .ending
            perform(after: settings.farewellTimeout, during: state.generation) { $0.finish(&$1) }
            serve(&state) { _ throws(MQTTError) in }
        case .running: finish(&state)
        case .ending, .leaving, .ended: break
        }
    }

    /// Begins a connection. Looking up the broker's name blocks, for a minute if no name server answers: that has a
    /// thread of its own, and the client can be asked and ended meanwhile.
    private func connect(_ state: inout ClientState) {
        state.generation += 1
        let (generation, failures, will) = (state.generation, state.failures, follower?.will())
        DispatchQueue.global().async { [open, settings] in
            let opening = Opening { () throws(MQTTError) in try open(settings, will, failures) }
            self.perform { client, state in
                // Otherwise the client has ended meanwhile.
                guard state.generation == generation else { return }
                client.connected(&state, opening)
            }
        }
    }

    private func connected(_ state: inout ClientState, _ opening: Opening) {
        if let error = opening.take(into: &state.connection) { return lost(&state, error) }
        let broker = "\(settings.host):\(settings.port)"
        let error = MQTTError(
            code: .timedOut,
            operation: "connect",
            object: broker,
            cause: "the broker has not accepted the connection within \(settings.connectTimeout)",
            remedy: "Check that it is an MQTT 5 broker, and whether it expects TLS; the client tries again."
        )
        perform(after: settings.connectTimeout, during: state.generation) { client, state in
            if !state.isAccepted { client.lost(&state, error) }
        }
        scheduleTick(state.generation)
        serve(&state) { _ throws(MQTTError) in }
    }

    private func scheduleTick(_ generation: Int) {
        perform(after: Self.tick, during: generation) { client, state in
            client.serve(&state) { connection throws(MQTTError) in try connection.tick() }
            if state.generation == generation { client.scheduleTick(generation) }
        }
    }

    /// There is no connection, or none any more.
    func lost(_ state: inout ClientState, _ error: MQTTError) {
        let wasAccepted = state.isAccepted
        drop(&state)
        if wasAccepted { outbox.interrupted() } else { state.failures += 1 }
        guard case .running = state.phase else { return finish(&state) }
        let pause = state.backoff.next(random: random())
        happened.yield(.disconnected(error, retryAfter: pause))
        perform(after: pause, during: state.generation) { $0.connect(&$1) }
    }

    private func drop(_ state: inout ClientState) {
        state.watch = nil
        state.connection = nil
        state.isAccepted = false
        state.window = SendWindow(limit: 0)
        (state.refused, state.again) = ([], [])
        state.generation += 1
    }

    func finish(_ state: inout ClientState) {
        let wasAccepted = state.isAccepted
        drop(&state)
        if wasAccepted { outbox.interrupted() }
        state.phase = .ended
        happened.yield(.ended)
        happened.finish()
        received.finish()
        state.whenEnded.take()?.resume()
    }
}

/// A connection on its way to the client's queue, or why there is none.
private final class Opening: Sendable {
    private let connection: Mutex<Connection?>
    private let error: MQTTError?

    init(_ open: () throws(MQTTError) -> sending Connection) {
        do throws(MQTTError) {
            connection = Mutex(try open())
            error = nil
        } catch {
            connection = Mutex(nil)
            self.error = error
        }
    }

    /// Hands the connection over, once.
    ///
    /// - Returns: why there is none.
    func take(into place: inout Connection?) -> MQTTError? {
        place = connection.withLock { $0.take() }
        return error
    }
}
