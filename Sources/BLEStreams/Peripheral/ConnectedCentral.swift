public import BLEProtocol
public import BLERadio
import Synchronization

/// A central that is connected to a ``PeripheralServer``.
public final class ConnectedCentral: Sendable {
    /// Its address.
    public var address: BluetoothAddress { bearer.radioLink.peer }

    /// The largest PDU on this link, in octets; one notification carries three less.
    public var mtu: Int { bearer.mtu }

    /// How the link is secured now.
    public var security: LinkSecurity { bearer.radioLink.security }

    private struct State {
        var confirmations: [ATTServer.IndicationID: @Sendable (Bool) -> Void] = [:]
        var waitingForRoom: [OnceOnly] = []
        /// Counts the news of room: who saw an older count need not wait.
        var rooms = 0
        var end: DisconnectReason?
    }

    let id: Int
    let bearer: Bearer
    private let state: Mutex<State>

    /// - Parameter client: what is kept of it from earlier links.
    init(link: any ATTLink, server: PeripheralServer, id: Int, client: ServerClient) {
        self.id = id
        state = Mutex(State())
        let identity = Reference()
        bearer = Bearer(
            link,
            timeline: server.radio.timeline,
            database: server.database,
            servedClient: client,
            onServer: { [weak server] output in
                guard let server, let central = identity.central else { return }
                central.handle(output, server)
            },
            onEnd: { [weak server] reason in
                guard let central = identity.central else { return }
                identity.central = nil
                central.ended(reason)
                server?.left(central, id: id, reason)
            }
        )
        identity.central = self
    }

    /// Holds the central for its own bearer, until the bearer has ended.
    private final class Reference: Sendable {
        private let reference = Mutex<ConnectedCentral?>(nil)
        var central: ConnectedCentral? {
            get { reference.withLock { $0 } }
            set { reference.withLock { $0 = newValue } }
        }
    }

    /// Whether the program lets this central at what asks for authorization, ``AccessRequirement/authorized``; not before it
    /// says so, and for this link only.
    public var isAuthorized: Bool {
        get { bearer.serve { server, _ in server.client.isAuthorized } }
        set { bearer.serve { server, _ in server.setAuthorized(newValue) } }
    }

    /// Drops the link to this central.
    public func disconnect() { bearer.close(DisconnectReason(.closedLocally)) }

    // MARK: - Events

    /// Tells of what a bonded central had subscribed to when it was here last: it holds without being written again.
    func resume(_ client: ServerClient, _ server: PeripheralServer) {
        for (handle, subscription) in client.subscriptions.sorted(by: { $0.key < $1.key }) {
            tell(subscription, of: handle, server)
        }
        // What it missed is indicated before it asks.
        bearer.synchronize()
    }

    private func tell(_ subscription: ServerClient.Subscription, of handle: UInt16, _ server: PeripheralServer) {
        // What the server sends by itself is nobody else's business.
        guard server.database.withLock({ $0.serviceChanged?.valueHandle }) != handle else { return }
        let kind: SubscriptionChange.Kind =
            switch subscription {
            case .none: .none
            case .notify: .notify
            case .indicate: .indicate
            }
        let change = SubscriptionChange(central: self, characteristic: server.characteristic(at: handle), kind: kind)
        server.tell(.subscription(change), of: handle)
    }

    /// What is to be kept of it, and whether the link was encrypted.
    var served: (client: ServerClient, isEncrypted: Bool) {
        bearer.serve { server, _ in (server.client, server.security.isEncrypted) }
    }

    private func handle(_ output: ATTServer.Output, _ server: PeripheralServer) {
        for change in output.subscriptionChanges { tell(change.subscription, of: change.characteristic, server) }
        for read in output.reads {
            let request = ReadRequest(
                central: self,
                characteristic: server.characteristic(at: read.handle),
                answer: PendingAnswer(bearer, read.token)
            )
            server.tell(.read(request), of: read.handle, onlyFirst: true)
        }
        for write in output.writes {
            let token: ATTServer.RequestToken? = if case .awaited(let token) = write.answer { token } else { nil }
            let request = WriteRequest(
                central: self,
                characteristic: server.characteristic(at: write.handle),
                offset: write.offset,
                value: write.value,
                answer: token.map { PendingAnswer(bearer, $0) }
            )
            server.tell(.write(request), of: write.handle, onlyFirst: token != nil)
        }
        settle(output)
    }

    private func settle(_ output: ATTServer.Output) {
        let (confirmed, unconfirmed, roomy) = state.withLock { state in
            let confirmed = output.confirmed.compactMap { state.confirmations.removeValue(forKey: $0) }
            let unconfirmed = output.unconfirmed.compactMap { state.confirmations.removeValue(forKey: $0) }
            guard output.hasRoom else { return (confirmed, unconfirmed, [OnceOnly]()) }
            state.rooms += 1
            defer { state.waitingForRoom = [] }
            return (confirmed, unconfirmed, state.waitingForRoom)
        }
        for result in confirmed { result(true) }
        for result in unconfirmed { result(false) }
        for waiter in roomy { waiter.run() }
    }

    private func ended(_ reason: DisconnectReason) {
        let (confirmations, roomy) = state.withLock { state in
            state.end = reason
            defer {
                state.confirmations = [:]
                state.waitingForRoom = []
            }
            return (Array(state.confirmations.values), state.waitingForRoom)
        }
        for result in confirmations { result(false) }
        for waiter in roomy { waiter.run() }
    }

    // MARK: - Sending

    /// Queues a notification; waits while the queue of this central is full.
    func notify(_ handle: UInt16, _ value: [UInt8], object: String) async throws {
        try await queue(object) { server, database throws(ATTServer.SendRefusal) in
            try server.notify(handle, value, database: database)
        }
    }

    /// Queues a notification where there is room; `false` where it has to be waited for, or fails.
    func notifyAtOnce(_ handle: UInt16, _ value: [UInt8]) -> Bool {
        bearer.serve { server, database in
            do throws(ATTServer.SendRefusal) {
                try server.notify(handle, value, database: database)
                return true
            } catch {
                return false
            }
        }
    }

    /// Queues notifications of several characteristics; waits while the queue of this central is full.
    func notify(_ values: [(handle: UInt16, value: [UInt8])], object: String) async throws {
        try await queue(object) { server, database throws(ATTServer.SendRefusal) in
            try server.notify(values, database: database)
        }
    }

    private func queue(
        _ object: String,
        _ add: (inout ATTServer, AttributeDatabase) throws(ATTServer.SendRefusal) -> Void
    ) async throws {
        while true {
            let rooms = state.withLock { $0.rooms }
            let refusal = bearer.serve { server, database -> ATTServer.SendRefusal? in
                do throws(ATTServer.SendRefusal) {
                    try add(&server, database)
                    return nil
                } catch {
                    return error
                }
            }
            guard let refusal else { return }
            guard refusal == .full else { throw refused(refusal, operation: "notify", object: object) }
            try await room(after: rooms)
        }
    }

    /// Queues an indication and waits until the central has confirmed it.
    func indicate(_ handle: UInt16, _ value: [UInt8], object: String) async throws {
        while true {
            let rooms = state.withLock { $0.rooms }
            let outcome: Result<Bool, ATTServer.SendRefusal> = try await reply(on: bearer.timeline) { finish in
                let queued = self.bearer.serve { server, database -> Result<Void, ATTServer.SendRefusal> in
                    do throws(ATTServer.SendRefusal) {
                        let id = try server.indicate(handle, value, database: database)
                        self.state.withLock { $0.confirmations[id] = { finish(.success(.success($0))) } }
                        return .success(())
                    } catch {
                        return .failure(error)
                    }
                }
                if case .failure(let refusal) = queued { finish(.success(.failure(refusal))) }
                return {}
            }
            switch outcome {
            case .success(true): return
            case .success(false):
                // The bearer knows first: the link may still be going down.
                if let end = bearer.end {
                    throw BLEError.linkEnded(end, operation: "indicate", object: object)
                }
                throw refused(.notSubscribed, operation: "indicate", object: object)
            case .failure(.full): try await room(after: rooms)
            case .failure(let refusal): throw refused(refusal, operation: "indicate", object: object)
            }
        }
    }

    private func room(after seen: Int) async throws {
        try await reply(on: bearer.timeline) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
            let waiter = OnceOnly { finish(.success(())) }
            let mustNotWait = self.state.withLock { state in
                guard state.rooms == seen, state.end == nil else { return true }
                state.waitingForRoom.append(waiter)
                return false
            }
            if mustNotWait { waiter.run() }
            return {}
        }
    }

    private func refused(_ refusal: ATTServer.SendRefusal, operation: String, object: String) -> BLEError {
        switch refusal {
        case .closed:
            BLEError.linkEnded(
                // The bearer knows first: the link may still be going down.
                bearer.end ?? state.withLock { $0.end } ?? DisconnectReason(.other),
                operation: operation,
                object: object
            )
        case .notSubscribed:
            BLEError(
                .notSupported,
                operation: operation,
                object: object,
                cause: "the central has not subscribed to it",
                remedy: "Send after the central has subscribed: PeripheralServer.subscriptions(of:) tells."
            )
        case .insufficientSecurity:
            BLEError(
                .permissionDenied,
                operation: operation,
                object: object,
                cause: "the link is less protected than the characteristic asks for",
                remedy: "Let the central pair first, or describe the characteristic with less."
            )
        case .outOfSync:
            BLEError(
                .busy,
                operation: operation,
                object: object,
                cause: "the central has not taken note yet that the services changed, and wants nothing before that",
                remedy: "Send again later: the central asks for what is new when it uses the link next."
            )
        case .unknownCharacteristic, .full:
            BLEError(.invalidArgument, operation: operation, object: object, cause: "there is no such characteristic")
        }
    }
}

extension ConnectedCentral: Hashable {
    public static func == (left: ConnectedCentral, right: ConnectedCentral) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ConnectedCentral: CustomStringConvertible {
    /// Its address: `C4:F2:17:1A:1D:BB`.
    public var description: String { address.description }
}
