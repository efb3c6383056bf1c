import BLEStreams

/// A client's connection to one device: carries out its requests in order, and passes on its notifications.
struct ProxyLink: Sendable {
    private enum Request: Sendable {
        case attribute(ProxyRequest.AttributeOperation)
        case pair
    }

    /// How long a connection may take: clients wait for 20 s or longer.
    private static let patience: Duration = .seconds(19)

    /// The most values that are sent together.
    private static let batch = 64

    /// The most requests of a client that may wait.
    private static let room = 256

    private let address: UInt64
    private let peripheral: Peripheral
    private let outbox: ProxyOutbox
    private let followers: ProxyFollowers
    private let log: Log
    private let wish = Switch()
    private let progress = ProxyPhase.Progress()
    private let requests: AsyncStream<Request>
    private let inlet: AsyncStream<Request>.Continuation

    init(_ peripheral: Peripheral, _ outbox: ProxyOutbox, of host: ProxyHost) {
        address = peripheral.address.rawValue
        self.peripheral = peripheral
        self.outbox = outbox
        followers = host.followers
        log = host.log
        (requests, inlet) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.room))
    }

    // MARK: - What the client asks for

    /// Queues a request; `false` if there is no connection any more, or no room.
    func take(_ operation: ProxyRequest.AttributeOperation) -> Bool { take(.attribute(operation)) }

    /// Queues a pairing; `false` as for the others.
    func pair() -> Bool { take(.pair) }

    /// Ends the connection, or the attempt; the client is told when that is done. `false` if it was already told.
    func end() -> Bool {
        guard progress.end() else { return false }
        wish.turnOff()
        return true
    }

    /// The phase of the connection.
    var phase: ProxyPhase { progress.now }

    private func take(_ request: Request) -> Bool {
        guard progress.now.isAlive else { return false }
        return if case .enqueued = inlet.yield(request) { true } else { false }
    }

    // MARK: - Connecting

    /// Connects, and serves the client until the client, the device or the link ends that; then tells the client.
    ///
    /// - Parameters:
    ///   - former: the client's previous connection to the same device; its end is reported to the client first.
    ///   - whenFree: called when this client has no link any more, before the client is told.
    /// - Throws: ``ClientHasLeft``, `CancellationError`.
    func run(after former: ProxyLink?, whenFree: @Sendable () -> Void) async throws {
        defer { progress.told.turnOff() }
        let end: Int32
        do {
            try await former?.progress.told.off.first()
            end = try await live()
        } catch let error as BLEError {
            log.say(error.proxyText)
            end = error.connectionNumber
        } catch {
            finish(whenFree)
            throw error
        }
        finish(whenFree)
        try await outbox.send(.noConnection(address, error: end))
    }

    private func finish(_ whenFree: @Sendable () -> Void) {
        progress.finish()
        inlet.finish()
        whenFree()
    }

    /// Why the link ended, if no error of this side ended it.
    private func live() async throws -> Int32 {
        try await withThrowingTaskGroup(of: Int32.self) { group in
            group.addTask {
                try await peripheral.withLink(timeout: Self.patience) { link in try await serve(link) }
            }
            group.addTask {
                try await wish.off.first()
                return DisconnectReason(.closedLocally).number
            }
            defer { group.cancelAll() }
            return try await group.next() ?? 0
        }
    }

    /// Serves the client on a link until the link is lost.
    private func serve(_ link: Link) async throws -> Int32 {
        log.detail("connected to \(peripheral) for a client, MTU \(link.mtu)")
        let losses = ProxyLosses(on: link)
        // After the subscriptions, which tell what is known to be theirs.
        defer {
            let lost = losses.unassigned
            if lost > 0 { log.say("\(peripheral): \(lost) values of unknown characteristics were dropped") }
        }
        return try await withThrowingTaskGroup(of: Int32.self) { group in
            defer { group.cancelAll() }
            // Watch before the client is told, since the client may then end the link: only a watcher learns the
            // reason.
            group.addImmediateTask {
                for try await state in peripheral.connectionStates {
                    if case .disconnected(let reason) = state { return (reason ?? DisconnectReason(.other)).number }
                }
                return 0
            }
            progress.connected(mtu: link.mtu)
            try await outbox.send(.connection(address, mtu: link.mtu))
            group.addTask {
                try await carryOut(on: link, losses)
                return 0
            }
            return try await group.next() ?? 0
        }
    }

    // MARK: - Carrying requests out

    private func carryOut(on link: Link, _ losses: ProxyLosses) async throws {
        try await withThrowingDiscardingTaskGroup { notifications in
            var subscriptions: [UInt16: Switch] = [:]
            for await request in requests {
                switch request {
                case .pair: try await pair(over: link)
                case .attribute(.notify(let handle, let isOn)):
                    subscriptions.removeValue(forKey: handle)?.turnOff()
                    guard isOn else { continue }
                    let subscription = Switch()
                    subscriptions[handle] = subscription
                    // Subscribe, on this link's queue, before the client's next request does anything.
                    notifications.addImmediateTask {
                        try await passOn(handle, of: link, until: subscription, losses)
                    }
                    try await outbox.send(.notifying(address, handle))
                case .attribute(let operation):
                    do {
                        try await carryOut(operation, on: link, notified: Set(subscriptions.keys))
                    } catch let error as BLEError where error.code != .disconnected {
                        try await fail(operation, error)
                    }
                }
            }
            for subscription in subscriptions.values { subscription.turnOff() }
        }
    }

    private func carryOut(
        _ operation: ProxyRequest.AttributeOperation,
        on link: Link,
        notified: Set<UInt16>
    ) async throws {
        switch operation {
        case .services:
            for service in try await link.discover().services { try await outbox.send(.service(address, service)) }
            try await outbox.send(.servicesDone(address))
        case .read(let handle):
            let value = try await link.read(.handle(handle))
            try await outbox.send(.value(address, handle, Array(value.bytes)))
        case .write(let handle, let octets, let isAnswered):
            try await link.write(octets, to: .handle(handle), isAnswered ? .withResponse : .withoutResponse)
            if isAnswered { try await outbox.send(.written(address, handle)) }
        case .writeDescriptor(let handle, let octets):
            if try await !needsNoWriting(octets, handle, of: link, notified) {
                try await link.write(octets, to: .handle(handle))
            }
            try await outbox.send(.written(address, handle))
        case .setParameters(let interval, let latency, let timeout):
            let unit: Duration = .microseconds(1250)
            let parameters = try ConnectionParameters(
                interval: unit * interval.lowerBound...unit * interval.upperBound,
                latency: latency,
                supervisionTimeout: .milliseconds(10) * timeout
            )
            try await peripheral.prefer(parameters)
            try await outbox.send(.parametersSet(address, error: 0))
        case .notify: break
        }
    }

    /// Whether the client is about to write a Client Characteristic Configuration that needn't be written.
    ///
    /// - It is already written: with an ESP32, the client writes it itself, here the subscription has done so, and some
    ///   devices start over at a second write.
    /// - It would take the notifications away from other clients, which share the link. The last subscription to end
    ///   switches them off.
    private func needsNoWriting(
        _ octets: [UInt8],
        _ handle: UInt16,
        of link: Link,
        _ notified: Set<UInt16>
    ) async throws -> Bool {
        // Without a subscription there is nothing to look up: the client may know the handle from an earlier link.
        guard followers.follow(address), let value = try await link.discover().characteristic(containing: handle),
            value.clientConfiguration?.handle == handle
        else { return false }
        let isOwn = notified.contains(value.valueHandle)
        let others = followers.count(of: .init(device: address, handle: value.valueHandle)) - (isOwn ? 1 : 0)
        if others > 0, octets.allSatisfy({ $0 == 0 }) { return true }
        guard isOwn else { return false }
        return try await link.read(.handle(handle)).elementsEqual(octets)
    }

    /// Tells the client that an operation failed.
    private func fail(_ operation: ProxyRequest.AttributeOperation, _ error: BLEError) async throws {
        log.detail(error.failureText)
        switch operation {
        case .setParameters: try await outbox.send(.parametersSet(address, error: error.attributeNumber))
        case .write(_, _, isAnswered: false): break
        default: try await outbox.send(.failed(address, operation.handle, error: error.attributeNumber))
        }
    }

    /// Passes on notifications, until the client unsubscribes, or there are no more.
    private func passOn(
        _ handle: UInt16,
        of link: Link,
        until end: Switch,
        _ losses: ProxyLosses
    ) async throws {
        let characteristic = ProxyFollowers.Characteristic(device: address, handle: handle)
        var lost = 0
        followers.add(characteristic)
        losses.subscribed()
        defer {
            followers.remove(characteristic)
            losses.unsubscribed(having: lost)
            if lost > 0 { log.say("\(peripheral): \(lost) values of \(handle.handleText) were dropped") }
        }
        let values = link.notifications(of: .handle(handle)).take(until: end.off)
        do {
            // What arrived together is sent together.
            for try await batch in values.batched(atMost: Self.batch) {
                // Before the stream is closed: what still waits then isn't wanted any more, so it isn't lost.
                lost = values.counters.dropped
                try await outbox.send(batch.map { .notification(address, handle, $0) })
            }
        } catch let error as BLEError {
            lost = values.counters.dropped
            // A lost link is reported as a disconnection.
            guard error.code != .disconnected else { return }
            log.detail(error.failureText)
            try await outbox.send(.failed(address, handle, error: error.attributeNumber))
        }
    }

    private func pair(over link: Link) async throws {
        do {
            try await link.pair()
            try await outbox.send(.paired(address, error: 0))
        } catch let error as BLEError where error.code != .disconnected {
            log.say(error.proxyText)
            try await outbox.send(.paired(address, error: error.attributeNumber))
        }
    }
}
