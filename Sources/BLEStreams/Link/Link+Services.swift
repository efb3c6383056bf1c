public import BLEProtocol
import BLERadio
import Synchronization

extension Link {
    /// All services of the peripheral with their characteristics and descriptors; found out once a link.
    ///
    /// Of a peripheral that was met before they are remembered, where it has a Database Hash, or no Service Changed at all,
    /// or a bond with this central: one request then tells that they seem to be the same, and what is asked behind the first
    /// operation makes sure of it. ``Peripheral/forgetServices()`` has them discovered instead. When the peripheral says that
    /// its services have changed they are discovered again by themselves; ``serviceChanges`` tells.
    ///
    /// - Parameter timeout: how long to wait; without it each request has the 30 s of the specification.
    /// - Throws: ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``, `CancellationError`.
    public func discover(timeout: Duration? = nil) async throws -> GATTDatabase {
        if let known = bearer.knownDatabase { return known }
        let object = OperationObject(.of, nil, peripheral.address)
        return try await outcome(of: .database, "discovery", object, timeout)
    }

    /// The services of chosen types alone, with their characteristics and descriptors: fewer requests than
    /// ``discover(timeout:)`` takes with a peripheral that has many.
    ///
    /// Operations that name a characteristic of these services, by its UUID or as it was found, then need no other
    /// discovery; what names another one has everything discovered. Where everything is known already, nothing is
    /// asked. What was found is not kept for later links, and the peripheral is not asked to tell of changes:
    /// ``discover(timeout:)`` does both, and is the better choice for a link that lasts.
    ///
    /// ```swift
    /// let database = try await link.discover(services: [.heartRate, .battery])
    /// if database.service(.battery) == nil { print("it tells nothing of its battery") }
    /// ```
    ///
    /// - Parameters:
    ///   - uuids: the types; services that they include are not found.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification.
    /// - Returns: what there is of them, ascending by handle; no services where there is nothing.
    /// - Throws: as ``discover(timeout:)``; on cancellation `CancellationError`, at once.
    public func discover(services uuids: [BluetoothUUID], timeout: Duration? = nil) async throws -> GATTDatabase {
        if let known = bearer.knownDatabase { return known.only(uuids) }
        let missing = bearer.chosen.missing(of: uuids)
        if !missing.isEmpty {
            let found = try await perform(
                DiscoverDatabase(services: missing),
                operation: "discovery",
                object: OperationObject(.of, nil, peripheral.address),
                timeout: timeout
            )
            bearer.add(found, of: missing)
        }
        return (bearer.knownDatabase ?? bearer.chosen.database).only(uuids)
    }

    /// The services of the peripheral after each change that it tells of while the link is up.
    ///
    /// Streams of values need not watch it: they go on with the new handles, or end with
    /// ``BLEError/Code/servicesChanged`` where their characteristic is gone. A ``Characteristic`` or a handle that the
    /// program keeps may mean something else after a change.
    ///
    /// The peripheral is asked to tell as soon as its services are known: by ``discover(timeout:)`` or by anything else
    /// that names a characteristic by its UUID. The stream ends when this side closes the link meanwhile, and throws
    /// ``BLEError/Code/disconnected`` when it is lost, or is over already.
    public var serviceChanges: BLEStream<GATTDatabase> {
        let watchers = watchers
        let subject = StreamSubject(operation: "service changes", object: "of \(peripheral)")
        return BLEStream(subject, timeline: timeline, buffer: .standard) { mailbox in
            watchers.add(
                ServiceWatchers.Watcher(
                    object: subject.object,
                    take: { mailbox.send($0) },
                    finish: { mailbox.finish(throwing: $0) }
                )
            )
        }
    }

    /// Whether the services in use were remembered from an earlier link and found to be right, not discovered on this one.
    public var servicesAreRemembered: Bool { bearer.isFromMemory }

    /// Forgets what is known of the services, here and for later links: whatever needs them next has them discovered.
    public func forgetServices() { bearer.forgetDatabase() }
}

extension Peripheral {
    /// Forgets the services that are remembered of it, so that the next link discovers them afresh.
    ///
    /// That is not needed where the peripheral keeps to the specification: a change is noticed by its Database Hash, or said.
    public func forgetServices() {
        for address in [address] + alternatives { core.store.update(address) { $0.services = nil } }
    }
}

/// Who is told of services that have changed.
final class ServiceWatchers: Sendable {
    struct Watcher: Sendable {
        let object: String
        let take: @Sendable (GATTDatabase) -> Void
        let finish: @Sendable (BLEError?) -> Void
    }

    private struct State {
        var watchers = Observers<Watcher>()
        /// `nil` while the link is up; then why it isn't, and nothing where this side closed it.
        var end: DisconnectReason??
    }

    private let state = Mutex(State())

    func add(_ watcher: Watcher) -> @Sendable () -> Void {
        let (id, end) = state.withLock { state in
            (state.end == nil ? state.watchers.add(watcher) : 0, state.end)
        }
        if let end { finish(watcher, end ?? DisconnectReason(.closedLocally)) }
        return { _ = self.state.withLock { $0.watchers.remove(id) } }
    }

    func tell(_ database: GATTDatabase) {
        for watcher in state.withLock({ $0.watchers.all }) { watcher.take(database) }
    }

    /// The link is over, or is about to be: `nil` where this side wanted it.
    func end(_ reason: DisconnectReason?) {
        let watchers = state.withLock { state in
            if state.end == nil { state.end = .some(reason) }
            return state.watchers.removeAll()
        }
        for watcher in watchers { finish(watcher, reason) }
    }

    private func finish(_ watcher: Watcher, _ reason: DisconnectReason?) {
        watcher.finish(reason.map { .linkEnded($0, operation: "service changes", object: watcher.object) })
    }
}
