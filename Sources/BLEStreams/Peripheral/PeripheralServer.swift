import BLEProtocol
import BLERadio
import Synchronization

/// A ``LocalPeripheral`` while it runs: who is connected, what they ask, and what they are sent.
public final class PeripheralServer: Sendable {
    /// Who is told of what happens.
    struct Watcher: Sendable {
        /// The value handle that it is about; `nil`: all.
        var handle: UInt16?
        /// Takes an event, if it is one of those that are watched for.
        var take: @Sendable (Event) -> Bool
        var finish: @Sendable (BLEError?) -> Void
    }

    /// What happens to the server, for those who watch.
    enum Event: Sendable {
        case connected(ConnectedCentral)
        case disconnected(ConnectedCentral, DisconnectReason)
        case subscription(SubscriptionChange)
        case read(ReadRequest)
        case write(WriteRequest)
    }

    private struct State {
        var centrals: [Int: ConnectedCentral] = [:]
        var watchers: [Int: Watcher] = [:]
        var nextID = 0
        var activities: [RadioActivity] = []
        var isStopped = false
        var failure: BLEError?
        var whenEmpty: OnceOnly?
    }

    let database: SharedDatabase
    let radio: any Radio
    private let request: AdvertiseRequest
    private let name: String
    private let state = Mutex(State())

    init(_ description: LocalPeripheral, radio: any Radio) throws {
        let services = description.services.addingMandatoryServices(
            name: description.name,
            appearance: description.appearance
        )
        if let fault = AttributeDatabase.fault(in: services) {
            throw BLEError(.invalidArgument, operation: "serve", object: description.name, cause: fault)
        }
        database = SharedDatabase(AttributeDatabase(services: services))
        request = try description.advertisement()
        name = description.name
        self.radio = radio
    }

    /// The centrals that are connected now.
    public var centrals: [ConnectedCentral] {
        state.withLock { $0.centrals.sorted { $0.key < $1.key }.map(\.value) }
    }

    // MARK: - The beginning and the end

    /// Listens, then advertises; returns when both are under way.
    func start() async throws {
        try await begin { finish in
            self.radio.listen { [weak self] event in
                switch event {
                case .started: finish(.success(()))
                case .accepted(let link): self?.accept(link)
                case .failed(let error):
                    self?.fail(error)
                    finish(.failure(error))
                }
            }
        }
        try await begin { finish in
            self.radio.advertise(self.request) { [weak self] event in
                switch event {
                case .started: finish(.success(()))
                case .failed(let error):
                    self?.fail(error)
                    finish(.failure(error))
                }
            }
        }
    }

    private func begin(
        _ start: (@escaping @Sendable (Result<Void, any Error>) -> Void) -> RadioActivity
    ) async throws {
        try await reply(on: radio.timeline) { finish in
            let activity = start(finish)
            let isStopped = self.state.withLock { state in
                if !state.isStopped { state.activities.append(activity) }
                return state.isStopped
            }
            if isStopped { activity.cancel() }
            return { activity.cancel() }
        }
    }

    /// Ends advertising and listening, drops all links, and waits until they are down; bounded in time.
    func stop() async {
        let (activities, watchers, centrals) = state.withLock { state in
            state.isStopped = true
            defer {
                state.activities = []
                state.watchers = [:]
            }
            return (state.activities, state.watchers, Array(state.centrals.values))
        }
        for activity in activities.reversed() { activity.cancel() }
        for watcher in watchers.values { watcher.finish(nil) }
        guard !centrals.isEmpty else { return }
        await withCheckedContinuation { continuation in
            let once = OnceOnly { continuation.resume() }
            let timer = radio.timeline.schedule(after: .seconds(5)) { once.run() }
            let isEmpty = state.withLock { state in
                state.whenEmpty = OnceOnly {
                    timer.cancel()
                    once.run()
                }
                return state.centrals.isEmpty
            }
            for central in centrals { central.bearer.close(DisconnectReason(.closedLocally)) }
            if isEmpty { once.run() }
        }
    }

    /// Waits until the adapter fails or the task is cancelled.
    func untilFailure() async throws {
        let nothing: BLEStream<Never> = events(nil, StreamSubject(operation: "serve", object: name), { _ in nil })
        for try await _ in nothing {}
    }

    private func fail(_ error: BLEError) {
        let watchers = state.withLock { state in
            if state.failure == nil { state.failure = error }
            defer { state.watchers = [:] }
            return state.watchers
        }
        for watcher in watchers.values { watcher.finish(error) }
    }

    // MARK: - Centrals

    private func accept(_ link: any ATTLink) {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.isStopped ? nil : state.nextID
        }
        guard let id else { return link.disconnect() }
        let central = ConnectedCentral(link: link, server: self, id: id)
        state.withLock { $0.centrals[id] = central }
        tell(.connected(central))
        central.bearer.start()
    }

    func left(_ central: ConnectedCentral, id: Int, _ reason: DisconnectReason) {
        let whenEmpty = state.withLock { state in
            state.centrals[id] = nil
            return state.centrals.isEmpty ? state.whenEmpty : nil
        }
        tell(.disconnected(central, reason))
        whenEmpty?.run()
    }

    // MARK: - Watching

    /// Whether anybody took it.
    @discardableResult
    func tell(_ event: Event, of handle: UInt16? = nil, onlyFirst: Bool = false) -> Bool {
        let watchers = state.withLock { state in
            state.watchers.sorted { $0.key < $1.key }.map(\.value).filter { $0.handle == nil || $0.handle == handle }
        }
        if onlyFirst { return watchers.contains { $0.take(event) } }
        return watchers.reduce(false) { $1.take(event) || $0 }
    }

    /// The events about one characteristic, or all, as far as they are chosen.
    func events<Element: Sendable>(
        _ handle: UInt16?,
        _ subject: StreamSubject,
        buffer: BufferPolicy = .standard,
        _ choose: @escaping @Sendable (Event) -> Element?
    ) -> BLEStream<Element> {
        BLEStream(subject, timeline: radio.timeline, buffer: buffer) { mailbox in
            let watcher = Watcher(
                handle: handle,
                take: { event in
                    guard let element = choose(event) else { return false }
                    mailbox.send(element)
                    return true
                },
                finish: { mailbox.finish(throwing: $0) }
            )
            let (id, isOver, failure) = self.state.withLock { state in
                defer { state.nextID += 1 }
                if !state.isStopped, state.failure == nil { state.watchers[state.nextID] = watcher }
                return (state.nextID, state.isStopped || state.failure != nil, state.failure)
            }
            if isOver { mailbox.finish(throwing: failure) }
            return { self.state.withLock { $0.watchers[id] = nil } }
        }
    }
}
