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
        /// The names of characteristics that are not offered any more, by value handle.
        var formerNames: [UInt16: String] = [:]
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
    private let description: LocalPeripheral
    private let served: ServedCentrals
    private var name: String { description.name }
    private let state = Mutex(State())

    init(_ description: LocalPeripheral, radio: any Radio, store: PeerStore) throws {
        let services = try description.allServices(description.services, operation: "serve")
        database = SharedDatabase(AttributeDatabase(services: services))
        request = try description.advertisement()
        self.description = description
        self.radio = radio
        served = ServedCentrals(store: store)
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

    // MARK: - What is offered

    /// Offers other services from now on, in place of those of the ``LocalPeripheral``.
    ///
    /// A service that is described as before keeps its handles, its values and its subscribers; what is new gets handles
    /// of its own. Centrals that want to be told (Service Changed) are; one that keeps what it discovered and has said so
    /// is answered Database Out Of Sync before it can use a handle that may be wrong. What is advertised stays.
    ///
    /// - Parameter services: all that is offered, but for the Generic Access and Generic Attribute services, which are
    ///   added by themselves.
    /// - Returns: whether anything is different now.
    /// - Throws: ``BLEError/Code/invalidArgument`` when the services can't be laid out; nothing has changed then.
    @discardableResult
    public func replaceServices(_ services: [LocalService]) throws -> Bool {
        let all = try description.allServices(services, operation: "replace services")
        let (isDifferent, former) = database.withLock { database in
            let former = database.characteristics
            return (database.replaceServices(all), former)
        }
        guard isDifferent else { return false }
        let centrals = state.withLock { state in
            for characteristic in former { state.formerNames[characteristic.valueHandle] = characteristic.id }
            return Array(state.centrals.values)
        }
        for central in centrals { central.bearer.synchronize() }
        return true
    }

    /// The name of a characteristic, or its handle where nobody knows a name.
    func characteristic(at handle: UInt16) -> String {
        database.withLock { $0.characteristic(at: handle)?.id } ?? state.withLock { $0.formerNames[handle] }
            ?? handle.hexadecimal
    }

    // MARK: - Centrals

    private func accept(_ link: any ATTLink) {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.isStopped ? nil : state.nextID
        }
        guard let id else { return link.disconnect() }
        let client = database.withLock { served.recall(link.peer, $0) }
        let central = ConnectedCentral(link: link, server: self, id: id, client: client)
        state.withLock { $0.centrals[id] = central }
        tell(.connected(central))
        central.bearer.start()
        central.resume(client, self)
    }

    func left(_ central: ConnectedCentral, id: Int, _ reason: DisconnectReason) {
        let whenEmpty = state.withLock { state in
            state.centrals[id] = nil
            return state.centrals.isEmpty ? state.whenEmpty : nil
        }
        let (client, isEncrypted) = central.served
        database.withLock { served.keep(client, of: central.address, isBonded: isEncrypted, $0) }
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
