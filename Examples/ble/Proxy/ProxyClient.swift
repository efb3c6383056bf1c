import BLEStreams
import ConsoleOutput
import Synchronization

/// One client that uses the adapter over the network, from its greeting until it leaves.
struct ProxyClient: Sendable {
    /// The most advertisements in one message.
    private static let batch = 16

    /// How long advertisements are collected.
    private static let pause: Duration = .milliseconds(50)

    /// The most advertisements that wait for a client; beyond that, the oldest are dropped.
    private static let room = 1024

    private let host: ProxyHost
    private let connection: TCPConnection
    private let outbox: ProxyOutbox
    private let number: Int

    init(_ host: ProxyHost, _ connection: TCPConnection, number: Int) {
        self.host = host
        self.connection = connection
        self.number = number
        outbox = ProxyOutbox(connection, ProxyChannel(host.identity, host.encryption))
    }

    /// Serves the client until it leaves, and then ends what it left behind, such as connections.
    func run() async throws {
        host.log.detail("client \(number) has come")
        do {
            try await withTaskCancellationHandler {
                // A client stays for months: what has ended meanwhile, such as a connection, leaves nothing in the
                // group.
                try await withThrowingDiscardingTaskGroup { group in
                    defer { group.cancelAll() }
                    try await converse(&group)
                }
            } onCancel: {
                // Answers wait until the client takes them, however long that is.
                connection.abandon()
            }
        } catch is ClientHasLeft {
            // Reported below.
        } catch let error as BLEError where error.code == .overflow {
            // The stream's own error: its operation isn't that of the connection's errors.
            host.log.say("client \(number) was turned away: it sends faster than its requests can be started")
        } catch let error as BLEError where error.operation == "receive" {
            host.log.detail("client \(number): \(error.failureText)")
        } catch let violation as ProxyViolation {
            host.log.say("client \(number) was turned away: \(violation.cause)")
        }
        connection.finish()
        host.log.detail("client \(number) has left")
    }

    /// What a client has in progress.
    private struct Activity {
        var links: [UInt64: ProxyLink] = [:]
        var scan: Switch?
        var mode = Central.ScanMode.active
        var isToldOfPlaces = false
    }

    private func converse(_ group: inout ThrowingDiscardingTaskGroup<any Error>) async throws {
        var activity = Activity()
        for try await octets in connection.received {
            let received = await outbox.receive(octets)
            for message in received.messages {
                guard let request = try ProxyRequest(type: message.type, message.octets) else { continue }
                guard try await handle(request, &activity, &group) else { return }
            }
            if let violation = received.violation { throw violation }
        }
    }

    /// Does something beside the conversation, which goes on whatever becomes of it: that a client has left is noticed
    /// where its requests are awaited.
    private func begin(
        in group: inout ThrowingDiscardingTaskGroup<any Error>,
        _ work: @escaping @Sendable () async throws -> Void
    ) {
        group.addTask { _ = try? await work() }
    }

    /// Does what the client asks for; returns `false` when it leaves.
    private func handle(
        _ request: ProxyRequest,
        _ activity: inout Activity,
        _ group: inout ThrowingDiscardingTaskGroup<any Error>
    ) async throws -> Bool {
        switch request {
        case .hello(let client):
            host.log.detail("client \(number) is \(client.harmless)")
            try await outbox.send(.hello(host.identity))
        case .authenticate: try await outbox.send(.authenticated)
        case .ping: try await outbox.send(.pong)
        case .deviceInfo: try await outbox.send(.deviceInfo(host.identity))
        case .listEntities: try await outbox.send(.entitiesListed)
        case .disconnect:
            try await outbox.send(.disconnected)
            return false
        case .subscribeAdvertisements: try await scan(&activity, &group)
        case .unsubscribeAdvertisements:
            activity.scan?.turnOff()
            activity.scan = nil
        case .setScanMode(let mode):
            activity.mode = mode
            if activity.scan != nil { try await scan(&activity, &group) }
        case .subscribeConnectionsFree:
            guard !activity.isToldOfPlaces else { break }
            activity.isToldOfPlaces = true
            let (slots, outbox) = (host.slots, outbox)
            begin(in: &group) {
                for try await used in slots.changes {
                    try await outbox.send(.connectionsFree(limit: slots.limit, used: used))
                }
            }
        case .device(let operation, let address, let kind):
            let peripheral = host.central.peripheral(BluetoothAddress(rawValue: address, kind: kind))
            try await handle(operation, peripheral, &activity, &group)
        case .attribute(let operation, let address):
            let link = activity.links[address]
            if link?.take(operation) != true {
                try await outbox.send(.failed(address, operation.handle, error: BLEError.notConnected))
            }
        }
        return true
    }

    private func handle(
        _ operation: ProxyRequest.DeviceOperation,
        _ peripheral: Peripheral,
        _ activity: inout Activity,
        _ group: inout ThrowingDiscardingTaskGroup<any Error>
    ) async throws {
        let address = peripheral.address.rawValue
        switch operation {
        case .connect, .connectWithCache, .connectAsOfOld: try await connect(peripheral, &activity, &group)
        case .disconnect:
            // A connection that is ending is reported when it has ended.
            guard activity.links[address]?.end() != true else { break }
            try await outbox.send(.noConnection(address, error: 0))
        case .pair:
            if activity.links[address]?.pair() != true {
                try await outbox.send(.paired(address, error: BLEError.notConnected))
            }
        case .unpair:
            begin(in: &group) { [outbox] in
                do {
                    try await peripheral.unpair()
                    try await outbox.send(.unpaired(address, error: 0))
                } catch let error as BLEError {
                    try await outbox.send(.unpaired(address, error: error.attributeNumber))
                }
            }
        case .clearCache:
            peripheral.forgetServices()
            try await outbox.send(.cacheCleared(address))
        }
    }

    /// Connects to a device. If this client is already connected to it, the connection is reported again, as an ESP32
    /// does; clients share the link to a device.
    private func connect(
        _ peripheral: Peripheral,
        _ activity: inout Activity,
        _ group: inout ThrowingDiscardingTaskGroup<any Error>
    ) async throws {
        let address = peripheral.address.rawValue
        let former = activity.links[address]
        switch former?.phase {
        case .beginning: return
        case .connected(let mtu): return try await outbox.send(.connection(address, mtu: mtu))
        case .ending, .over, nil: break
        }
        guard host.slots.take(address) else {
            host.log.say("\(peripheral): all \(host.slots.limit) connections are in use; see --connections")
            return try await outbox.send(.noConnection(address, error: BLEError.noResources))
        }
        let link = ProxyLink(peripheral, outbox, of: host)
        activity.links = activity.links.filter { $0.value.phase != .over }
        activity.links[address] = link
        begin(in: &group) { [slots = host.slots] in try await link.run(after: former) { slots.free(address) } }
    }

    // MARK: - Advertisements

    private func scan(_ activity: inout Activity, _ group: inout ThrowingDiscardingTaskGroup<any Error>) async throws {
        activity.scan?.turnOff()
        let (end, mode) = (Switch(), activity.mode)
        activity.scan = end
        try await outbox.send(.scanning(mode, isRunning: true))
        begin(in: &group) { try await passOnAdvertisements(mode, until: end) }
    }

    /// Passes on advertisements, even after a time when the adapter couldn't be used.
    private func passOnAdvertisements(_ mode: Central.ScanMode, until end: Switch) async throws {
        do {
            try await passOn(advertisements(mode).take(until: end.off))
        } catch let error as BLEError {
            // Connecting may still work: other clients, and this client's connections, aren't disturbed.
            host.log.say(error.messageText)
            try await outbox.send(.scanning(mode, isRunning: false))
        }
    }

    private func advertisements(_ mode: Central.ScanMode) -> BLEStream<Discovery> {
        let (log, number) = (host.log, number)
        return host.central.scan(duplicates: true, mode: mode, buffer: .newest(Self.room)).retry(
            .exponential(from: .seconds(1))
        ) { error in
            guard let error = error as? BLEError, !error.isFinal, error.code != .permissionDenied else { return false }
            log.say("client \(number) hears nothing for now: \(error.messageText)")
            return true
        }
    }

    private func passOn(_ found: BLEStream<Discovery>) async throws {
        let collected = Collected(room: Self.room)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // Also if the scan fails: the group waits for the other task.
                defer { collected.finish() }
                for try await discovery in found { collected.add(discovery) }
            }
            group.addTask { [outbox] in
                for await _ in collected.bell {
                    try await Task.sleep(for: Self.pause)
                    let all = collected.takeAll()
                    let messages = stride(from: 0, to: all.count, by: Self.batch).map { start in
                        ProxyResponse.advertisements(Array(all[start..<min(start + Self.batch, all.count)]))
                    }
                    try await outbox.send(messages)
                }
            }
            try await group.waitForAll()
        }
    }

    /// Advertisements that are waiting to be sent.
    private final class Collected: Sendable {
        let bell: AsyncStream<Void>
        private let ring: AsyncStream<Void>.Continuation
        private let waiting = Mutex<[Discovery]>([])
        private let room: Int

        init(room: Int) {
            self.room = room
            (bell, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        }

        func add(_ discovery: Discovery) {
            let isFirst = waiting.withLock { waiting in
                if waiting.count == room { waiting.removeFirst() }
                waiting.append(discovery)
                return waiting.count == 1
            }
            if isFirst { ring.yield() }
        }

        func takeAll() -> [Discovery] {
            waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
        }

        func finish() { ring.finish() }
    }
}

/// What all clients share.
struct ProxyHost: Sendable {
    let central: Central
    let identity: ProxyIdentity
    let encryption: ProxyChannel.Encryption?
    let slots: ProxySlots
    let followers = ProxyFollowers()
    let log: Log
}
