import BLEProtocol
import Synchronization

/// What is known of the peer's attributes, and who subscribes to which of them.
final class LinkAttributes: Sendable {
    /// One consumer of a characteristic's values.
    struct Subscriber: Sendable {
        /// What is subscribed to, for errors: `of 2A37 of C4:F2:17:1A:1D:BB`.
        let object: String
        /// Takes values in order, as many as came at once.
        let deliver: @Sendable ([CharacteristicValue]) -> Void
        /// Hears of values that were dropped before they came here.
        let lost: @Sendable (Int) -> Void
        /// Ends the consumer's stream; without an error when this side closed the link.
        let finish: @Sendable (BLEError?) -> Void
        /// Called when the peer has confirmed that it sends the values.
        var armed: (@Sendable () -> Void)?
    }

    private struct State {
        var database: GATTDatabase?
        var waiting: [@Sendable (Result<GATTDatabase, GATTFailure>) -> Void] = []
        var isDiscovering = false
        var table = SubscriptionTable()
        var subscribers: [Int: (handle: UInt16?, subscriber: Subscriber)] = [:]
        var nextID = 0
        var whenQuiet: (@Sendable () -> Void)?
        var isClosing = false
    }

    private let peripheral: BluetoothAddress
    private let state = Mutex(State())
    private let bearerReference = Mutex<Bearer?>(nil)

    init(peripheral: BluetoothAddress) { self.peripheral = peripheral }

    /// Set once, before anything else; the bearer holds closures that hold this, until it ends.
    var bearer: Bearer? {
        get { bearerReference.withLock { $0 } }
        set { bearerReference.withLock { $0 = newValue } }
    }

    var knownDatabase: GATTDatabase? { state.withLock { $0.database } }

    // MARK: - The database

    /// Discovers everything, once for all who ask; later calls have it at once.
    func database(_ result: @escaping @Sendable (Result<GATTDatabase, GATTFailure>) -> Void) {
        let (known, mustDiscover) = state.withLock { state -> (GATTDatabase?, Bool) in
            if let database = state.database { return (database, false) }
            state.waiting.append(result)
            defer { state.isDiscovering = true }
            return (nil, !state.isDiscovering)
        }
        if let known { return result(.success(known)) }
        if mustDiscover { discover() }
    }

    /// Forgets what is known, so that the next call discovers afresh.
    func forgetDatabase() { state.withLock { $0.database = nil } }

    private func discover() {
        guard let bearer else { return discovered(.failure(.disconnected(DisconnectReason(.other)))) }
        bearer.begin(DiscoverDatabase()) { outcome in
            self.discovered(outcome.flatMap { ($0 as? GATTDatabase).map(Result.success) ?? .failure(.cancelled) })
        }
    }

    private func discovered(_ outcome: Result<GATTDatabase, GATTFailure>) {
        let waiting = state.withLock { state in
            state.isDiscovering = false
            if case .success(let database) = outcome { state.database = database }
            defer { state.waiting = [] }
            return state.waiting
        }
        for result in waiting { result(outcome) }
    }

    /// Finds a characteristic, after discovery where that is needed.
    func characteristic(
        _ selector: CharacteristicSelector,
        operation: String,
        _ result: @escaping @Sendable (Result<Characteristic, BLEError>) -> Void
    ) {
        let peripheral = peripheral
        database { outcome in
            switch outcome {
            case .failure(let failure):
                result(.failure(BLEError(failure, operation: operation, object: "\(selector) of \(peripheral)")))
            case .success(let database):
                result(Self.find(selector, in: database, operation: operation, peripheral))
            }
        }
    }

    static func find(
        _ selector: CharacteristicSelector,
        in database: GATTDatabase,
        operation: String,
        _ peripheral: BluetoothAddress
    ) -> Result<Characteristic, BLEError> {
        let found =
            switch selector {
            case .uuid(let uuid, let service): database.characteristic(uuid, in: service)
            case .handle(let handle): database.characteristic(valueHandle: handle)
            }
        if let found { return .success(found) }
        return .failure(
            BLEError(
                .notFound,
                operation: operation,
                object: "\(selector) of \(peripheral)",
                cause: "the peripheral has no such characteristic",
                remedy: "List what it has with `ble info \(peripheral)` or Link.discover()."
            )
        )
    }

    // MARK: - Subscriptions

    /// Subscribes to a characteristic; the subscriber is in place before the peer is asked to send.
    ///
    /// - Parameters:
    ///   - indications: whether indications are preferred where the characteristic has both.
    ///   - registered: called when the wish is queued, with the characteristic: what is begun now follows it on air.
    /// - Returns: a closure that takes the subscription back.
    func subscribe(
        _ selector: CharacteristicSelector,
        indications: Bool,
        _ subscriber: Subscriber,
        registered: @escaping @Sendable (Characteristic) -> Void = { _ in }
    ) -> @Sendable () -> Void {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            if !state.isClosing { state.subscribers[state.nextID] = (nil, subscriber) }
            return state.isClosing ? nil : state.nextID
        }
        guard let id else {
            subscriber.finish(nil)
            return {}
        }
        characteristic(selector, operation: "notifications") { found in
            switch found {
            case .failure(let error): self.fail([id]) { _ in error }
            case .success(let characteristic):
                if self.arm(id, characteristic, indications: indications) { registered(characteristic) }
            }
        }
        return { self.unsubscribe(id) }
    }

    /// Whether the subscriber is still wanted and the characteristic can send.
    private func arm(_ id: Int, _ characteristic: Characteristic, indications: Bool) -> Bool {
        let properties = characteristic.properties
        let configuration: SubscriptionTable.Configuration
        switch (properties.contains(.notify), properties.contains(.indicate)) {
        case (true, let both): configuration = both && indications ? .indicate : .notify
        case (false, true): configuration = .indicate
        case (false, false):
            fail([id]) { _ in .cannotSend(characteristic, of: self.peripheral) }
            return false
        }
        guard let bearer else { return false }
        let handle = characteristic.valueHandle
        let subscriber = state.withLock { state -> Subscriber? in
            state.subscribers[id]?.handle = handle
            return state.subscribers[id]?.subscriber
        }
        guard let subscriber else { return false }
        bearer.addRoute(handle, Bearer.Route(id: id, deliver: subscriber.deliver, lost: subscriber.lost))
        let descriptor = characteristic.clientConfiguration
        let (isWanted, write) = state.withLock { state -> (Bool, SubscriptionTable.Write?) in
            guard state.subscribers[id] != nil else { return (false, nil) }
            return (true, state.table.add(id, valueHandle: handle, descriptorHandle: descriptor?.handle, configuration))
        }
        if let write { carryOut(write) } else { tellArmed(handle) }
        // It may have left between the two locks.
        if !isWanted { bearer.removeRoute(handle, id: id) }
        return isWanted
    }

    private func unsubscribe(_ id: Int) {
        let (handle, write) = state.withLock { state -> (UInt16?, SubscriptionTable.Write?) in
            guard let entry = state.subscribers.removeValue(forKey: id), let handle = entry.handle else {
                return (nil, nil)
            }
            return (handle, state.table.remove(id, valueHandle: handle))
        }
        if let handle { bearer?.removeRoute(handle, id: id) }
        if let write { carryOut(write) }
    }

    private func carryOut(_ write: SubscriptionTable.Write) {
        let value = write.configuration.rawValue
        let octets = [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
        bearer?.begin(WriteValue(handle: write.descriptorHandle, value: octets)) { outcome in
            var succeeded = true
            if case .failure = outcome { succeeded = false }
            let (failed, next, whenQuiet) = self.state.withLock { state in
                let (failed, next) = state.table.written(write, succeeded: succeeded)
                return (failed, next, state.table.isBusy ? nil : state.whenQuiet.take())
            }
            if case .failure(let failure) = outcome, !failed.isEmpty {
                self.fail(failed) { BLEError(failure, operation: "notifications", object: $0.object) }
            }
            if succeeded { self.tellArmed(write.valueHandle) }
            if let next { self.carryOut(next) }
            whenQuiet?()
        }
    }

    /// Tells the subscribers of a characteristic that their values are sent from now on; each once.
    private func tellArmed(_ valueHandle: UInt16) {
        let armed = state.withLock { state in
            state.subscribers.compactMap { id, entry -> (@Sendable () -> Void)? in
                guard entry.handle == valueHandle, entry.subscriber.armed != nil,
                    state.table.isArmed(id, valueHandle: valueHandle)
                else { return nil }
                return state.subscribers[id]?.subscriber.armed.take()
            }
        }
        for action in armed { action() }
    }

    private func fail(_ ids: [Int], with error: (Subscriber) -> BLEError) {
        let failed = state.withLock { state in
            ids.compactMap { id in state.subscribers.removeValue(forKey: id).map { (id, $0) } }
        }
        for (id, entry) in failed {
            if let handle = entry.handle { bearer?.removeRoute(handle, id: id) }
            entry.subscriber.finish(error(entry.subscriber))
        }
    }

    // MARK: - The end

    /// Ends all streams without an error, switches off what is on, and calls back when that is done.
    func unsubscribeAll(_ done: @escaping @Sendable () -> Void) {
        let all = state.withLock { state in
            state.isClosing = true
            return state.subscribers
        }
        for (id, entry) in all {
            entry.subscriber.finish(nil)
            unsubscribe(id)
        }
        let isQuiet = state.withLock { state in
            if state.table.isBusy { state.whenQuiet = done }
            return !state.table.isBusy
        }
        if isQuiet { done() }
    }

    /// The bearer is over: every stream ends with the reason.
    func ended(_ reason: DisconnectReason) {
        let (subscribers, whenQuiet) = state.withLock { state in
            defer {
                state.subscribers = [:]
                state.table = SubscriptionTable()
                state.isClosing = true
            }
            return (state.subscribers.values.map(\.subscriber), state.whenQuiet.take())
        }
        for subscriber in subscribers {
            subscriber.finish(.linkEnded(reason, operation: "notifications", object: subscriber.object))
        }
        whenQuiet?()
        bearer = nil
    }
}
