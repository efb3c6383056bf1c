@preconcurrency import Dispatch
import Synchronization

/// A client of an MQTT 5 broker: keeps a connection, sends what its outbox has, and receives.
///
/// ```swift
/// let client = MQTTClient(MQTTSettings(host: "localhost", clientID: "gateway"), outbox: outbox)
/// await withTaskGroup { group in
///     group.addTask { await client.run() }
///     for await message in client.messages { print(message.topic) }
/// }
/// ```
///
/// One event loop drives it: a serial queue with sources for the socket. It has no thread of its own. At most
/// ``MQTTSettings/inFlight`` messages, and never more than the broker's receive maximum, are given to libmosquitto and
/// not acknowledged; the next one is taken from the outbox only when an acknowledgement has come. When the connection
/// is lost, the outbox is told, and decides what to send again; the client connects again after a pause that grows
/// until a connection holds.
public final class MQTTClient: Sendable {
    /// What the broker sends, for one consumer. What finds ``MQTTSettings/inboxLimit`` messages waiting is dropped and
    /// counted. The stream ends with the client.
    public let messages: AsyncStream<MQTTMessage>

    /// What happens to the connection, for one consumer; the newest 256 are kept. The stream ends with the client.
    public let events: AsyncStream<MQTTEvent>

    let settings: MQTTSettings
    let outbox: any MQTTOutbox
    let follower: (any MQTTFollower)?
    let random: @Sendable () -> Double
    /// Begins a connection, after a number of attempts that have failed; tests replace it.
    let open: @Sendable (MQTTSettings, MQTTDelayedWill?, Int) throws(MQTTError) -> sending Connection
    let received: AsyncStream<MQTTMessage>.Continuation
    let happened: AsyncStream<MQTTEvent>.Continuation
    let queue = DispatchQueue(label: "MQTT client")

    private let state: Mutex<ClientState>
    private let isWaking = Mutex(false)

    /// Makes a client, which does nothing before it runs.
    ///
    /// - Parameters:
    ///   - settings: the broker.
    ///   - outbox: has the messages to send; if it is an ``MQTTFollower``, it also takes those that come.
    ///   - random: numbers from 0 to 1, for the jitter of the pauses.
    public convenience init(
        _ settings: MQTTSettings,
        outbox: any MQTTOutbox,
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        self.init(settings, outbox: outbox, random: random) { settings, will, failures throws(MQTTError) in
            try Connection.open(settings, will: will, failures: failures)
        }
    }

    init(
        _ settings: MQTTSettings,
        outbox: any MQTTOutbox,
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) },
        open: @escaping @Sendable (MQTTSettings, MQTTDelayedWill?, Int) throws(MQTTError) -> sending Connection
    ) {
        self.open = open
        self.settings = settings
        self.outbox = outbox
        follower = outbox as? any MQTTFollower
        self.random = random
        (messages, received) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(max(1, settings.inboxLimit)))
        (events, happened) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
        state = Mutex(ClientState(settings.backoff))
    }

    /// What the client has done so far.
    public var counts: MQTTCounts { state.withLock { $0.counts } }

    /// Runs the client until the task is cancelled. It then sends what its outbox still has, waits for the
    /// acknowledgements, for ``MQTTSettings/farewellTimeout`` at most, and says farewell. It can run once.
    public func run() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                perform { client, state in
                    state.whenEnded = continuation
                    client.begin(&state)
                }
            }
        } onCancel: {
            perform { client, state in client.end(&state) }
        }
    }

    /// The outbox has messages again. It can be called from anywhere and at any time; it returns immediately.
    public func wake() {
        let isFirst = isWaking.withLock { isWaking in
            defer { isWaking = true }
            return !isWaking
        }
        guard isFirst else { return }
        perform { client, state in
            client.isWaking.withLock { $0 = false }
            client.serve(&state) { _ throws(MQTTError) in }
        }
    }

    /// Says farewell to the broker, which publishes the last will if ``MQTTSettings/farewellPublishesWill`` is set, and
    /// connects again after a pause. It can be called from anywhere and at any time; without a connection it does
    /// nothing.
    public func reconnect() {
        perform { client, state in
            guard case .running = state.phase, state.isAccepted else { return }
            client.serve(&state) { connection throws(MQTTError) in
                try connection.disconnect(publishingWill: client.settings.farewellPublishesWill)
            }
        }
    }

    /// Does a step on the queue.
    func perform(_ step: @escaping @Sendable (MQTTClient, inout ClientState) -> Void) {
        queue.async { self.state.withLock { step(self, &$0) } }
    }

    /// Does a step at once; only on the queue.
    func now(_ step: (MQTTClient, inout ClientState) -> Void) { state.withLock { step(self, &$0) } }

    /// Does a step on the queue later, unless the connection is another one by then.
    func perform(
        after delay: Duration,
        during generation: Int,
        _ step: @escaping @Sendable (MQTTClient, inout ClientState) -> Void
    ) {
        let seconds = Double(delay.components.seconds) + Double(delay.components.attoseconds) / 1e18
        queue.asyncAfter(deadline: .now() + seconds) { [weak self] in
            guard let self else { return }
            state.withLock { if $0.generation == generation { step(self, &$0) } }
        }
    }
}

/// What a client has done.
public struct MQTTCounts: Hashable, Sendable {
    /// Connections that a broker has accepted.
    public var connections = 0
    /// Messages that were given to libmosquitto.
    public var sent = 0
    /// Messages that a broker has acknowledged.
    public var acknowledged = 0
    /// Messages that a broker has refused, or that could not be sent.
    public var refused = 0
    /// Messages that were received.
    public var received = 0
    /// Of the received ones, those that were dropped: too many waited, or they were too large.
    public var dropped = 0

    /// All zero.
    public init() {}
}

/// The state of a client, changed on its queue only.
struct ClientState: ~Copyable {
    enum Phase {
        /// It was not run yet. Can transition to: running, ended.
        case idle
        /// It connects, or is connected. Can transition to: ending, ended.
        case running
        /// It sends the last messages. Can transition to: leaving, ended.
        case ending
        /// It has said farewell, which may not have left yet. Can transition to: ended.
        case leaving
        /// It is over.
        case ended
    }

    var phase = Phase.idle
    var connection: Connection?
    var watch: SocketWatch?
    /// Counts the connections and the pauses between them; a timer of an old one does nothing.
    var generation = 0
    /// Whether the broker has accepted the connection.
    var isAccepted = false
    /// How many attempts have ended before that: a connection that is made again takes the way of the last one.
    var failures = 0
    var window = SendWindow(limit: 0)
    /// The topics whose subscription the broker has refused, and which wait until it is tried again.
    var refused: Set<String> = []
    /// Those whose time has come.
    var again: Set<String> = []
    var backoff: Backoff
    var counts = MQTTCounts()
    var whenEnded: CheckedContinuation<Void, Never>?

    init(_ backoff: Backoff) { self.backoff = backoff }
}
