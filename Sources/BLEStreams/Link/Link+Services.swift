public import BLEProtocol
import BLERadio
import Synchronization

extension Link {
    /// All services of the peripheral with their characteristics and descriptors; discovered once per link.
    ///
    /// The services of a known peripheral are remembered if it has a Database Hash, no Service Changed, or a bond with
    /// this central: one request then checks whether they seem unchanged, and requests after the first operation, or
    /// after a second without one, verify that. After ``Peripheral/forgetServices()`` they are discovered again, and
    /// also, automatically, when the peripheral indicates that its services have changed; ``serviceChanges`` reports
    /// that.
    ///
    /// - Parameter timeout: how long to wait; without it, the 30 s of the specification for each request.
    /// - Throws: ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``, `CancellationError`;
    ///   ``BLEError/Code/servicesChanged`` after about a minute in which the services of the peripheral have changed
    ///   again and again before they were discovered.
    public func discover(timeout: Duration? = nil) async throws -> GATTDatabase {
        if let known = bearer.knownDatabase { return known }
        let object = OperationObject(.of, nil, peripheral.address)
        return try await outcome(of: .database, "discovery", object, timeout)
    }

    /// As ``discover(timeout:)``, with a limit that begins when the link is free for it: others may hold it for long.
    func discover(within limit: Duration) async throws -> GATTDatabase {
        if let known = bearer.knownDatabase { return known }
        let object = OperationObject(.of, nil, peripheral.address)
        return try await outcome(of: .database(within: limit), "discovery", object, nil)
    }

    /// Only the services of the given types, with their characteristics and descriptors: for a peripheral with many
    /// services, this takes fewer requests than ``discover(timeout:)``.
    ///
    /// Operations on a characteristic of these services, named by its UUID or as discovered, then need no other
    /// discovery; an operation on another one discovers everything. If everything is known already, no request is made.
    /// The result is not stored for later links, and changes of the services are not subscribed to:
    /// ``discover(timeout:)`` does both, and is the better choice for a lasting link.
    ///
    /// ```swift
    /// let database = try await link.discover(services: [.heartRate, .battery])
    /// if database.service(.battery) == nil { print("no battery service") }
    /// ```
    ///
    /// - Parameters:
    ///   - uuids: the types; included services are not discovered.
    ///   - timeout: how long to wait; without it, the 30 s of the specification for each request.
    /// - Returns: the services found, in ascending order of handles; possibly none.
    /// - Throws: as ``discover(timeout:)``; `CancellationError` immediately on cancellation.
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

    /// The services of the peripheral after each change that it indicates while the link is up.
    ///
    /// A change that comes after ``forgetServices()``, or that could not be looked at, is reported once the services
    /// are discovered again, if they differ from those known before.
    ///
    /// Streams of values handle changes themselves: they continue with the new handles, or end with
    /// ``BLEError/Code/servicesChanged`` if their characteristic has disappeared. A ``Characteristic`` or a handle that
    /// the program has stored may refer to something else after a change.
    ///
    /// The library subscribes to changes once the services are discovered: by ``discover(timeout:)``, or by any
    /// operation that names a characteristic by its UUID. The stream ends if this side closes the link meanwhile, and
    /// throws ``BLEError/Code/disconnected`` if the link is lost or has already ended.
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

    /// Whether the services in use were remembered from an earlier link and checked, not discovered on this one.
    public var servicesAreRemembered: Bool { bearer.isFromMemory }

    /// Forgets the services, on this link and for later ones: the next operation that needs them discovers them again.
    ///
    /// Streams of values go on. Once the services are known again, each continues where its characteristic is then, or
    /// ends with ``BLEError/Code/servicesChanged`` if that has disappeared.
    public func forgetServices() { bearer.forgetDatabase() }
}

extension Peripheral {
    /// Forgets the services remembered of the peripheral, so that the next link discovers them again.
    ///
    /// This is unnecessary if the peripheral complies with the specification: its Database Hash or an indication then
    /// reveals a change.
    public func forgetServices() {
        let names = [address] + alternatives
        // A link to a bonded peripheral goes by its identity, whichever private address the program knows it by.
        for name in Set(names + names.map { core.identities.identity(of: $0) }) {
            core.store.forgetServices(of: name)
        }
    }
}

/// The watchers of changes of the services.
final class ServiceWatchers: Sendable {
    struct Watcher: Sendable {
        let object: String
        let take: @Sendable (GATTDatabase) -> Void
        let finish: @Sendable (BLEError?) -> Void
    }

    private struct State {
        var watchers = Observers<Watcher>()
        /// `nil` while the link is up; then the reason for its end, or an inner `nil` if this side closed it.
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

    /// The link has ended or is about to; `nil` if this side closed it.
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
