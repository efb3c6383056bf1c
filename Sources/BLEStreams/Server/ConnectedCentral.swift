public import BLEProtocol
import BLERadio
import Synchronization

/// A central that is connected to a ``PeripheralServer``.
public final class ConnectedCentral: Sendable {
    /// Its address.
    public var address: BluetoothAddress { bearer.radioLink.peer }

    /// The largest PDU on this link, in octets.
    public var mtu: Int { bearer.mtu }

    /// How many octets one notification or indication to it carries: ``mtu`` less three, and at most 512, the limit of
    /// an attribute value (Core Specification, Vol 3, Part F, 3.2.9).
    public var maximumValueLength: Int { bearer.serve { server, _ in server.maximumValueLength } }

    /// How many of its writes were dropped because it wrote faster than the program took them from
    /// ``PeripheralServer/writes(to:)``.
    public var droppedWrites: Int { state.withLock { $0.droppedWrites } }

    /// The link's protection now.
    public var security: LinkSecurity { bearer.radioLink.security }

    struct State {
        var confirmations: [ATTServer.IndicationID: @Sendable (Bool) -> Void] = [:]
        /// The callers that wait for room in a queue, one for notifications and one for indications.
        var notifications = RoomBoard()
        var indications = RoomBoard()
        /// The callers that wait until no notification of a characteristic is waiting.
        var emptiness = RoomBoard()
        var droppedWrites = 0
        /// The characteristics of which a message was under way when nobody iterated them any more.
        var interruptedMessages = InterruptedMessages()
        /// The characteristics of which only a part of the last message was sent, and the subscription that has it.
        var partsSent: [UInt16: ATTServer.Breaks] = [:]
        /// How many of its changes between behind and not behind were reported.
        var toldChanges = 0
        var longReads = LongReads()
        /// The characteristics to which it was told to be subscribed, by their value handles: another one may be at the
        /// handle when the end of the subscription is told.
        var subscribed: [UInt16: DatabaseCharacteristic] = [:]
        var end: DisconnectReason?
        /// What may yet tell of subscriptions from earlier links.
        var resuming: [RadioActivity] = []
        /// Whether what it has configured is about to be stored; the timer for that.
        var isKeeping = false
        var keeping: RadioActivity?
        /// Waits until the link is encrypted, with what was configured before that.
        var encryption: RadioActivity?
        /// The address under which its bond is kept, if it has sent it on this link.
        var identity: BluetoothAddress?
        /// Whether its file has, or has had on this link, a bond with it.
        var hasStoredBond = false
        var isDisowned = false
        /// Whether what it has configured is known to have been in its file; how often that was to be stored.
        var hasStoredState = false
        var keepings = 0
        var isUnread = false
    }

    /// The callers that wait for room in one queue.
    struct RoomBoard {
        var waiters = Observers<@Sendable () -> Void>()
        /// Counts how often room was reported: a caller that saw an older count doesn't have to wait.
        var news = 0
        /// Set when a caller has waited in vain up to the limit: nobody waits again before the radio takes a value.
        var stuck: Stuck?

        /// There is room: returns the callers to wake.
        mutating func takeWaiters() -> [@Sendable () -> Void] {
            news += 1
            stuck = nil
            return waiters.removeAll()
        }
    }

    let id: Int
    let bearer: Bearer
    let backlogs: BacklogBoard
    let state: Mutex<State>
    private let reference: Reference

    /// - Parameters:
    ///   - client: the state that is kept of it from earlier links.
    ///   - isBonded: whether there is a bond with it, according to the program's files.
    init(link: any ATTLink, server: PeripheralServer, id: Int, client: ServerClient, isBonded: Bool) {
        self.id = id
        backlogs = server.backlogBoard
        state = Mutex(State())
        let reference = Reference()
        self.reference = reference
        bearer = Bearer(
            link,
            timeline: server.radio.timeline,
            database: server.database,
            servedClient: client,
            isBonded: isBonded,
            Bearer.Surroundings(
                served: { [weak server] output in
                    guard let server, let central = reference.central else { return }
                    central.handle(output, server)
                },
                securityFailed: { [weak server] error in server?.encryptionFailed(link.peer, error) },
                ended: { [weak server] reason in
                    guard let central = reference.central else { return }
                    reference.central = nil
                    central.ended(reason)
                    server?.left(central, id: id, reason)
                }
            )
        )
    }

    /// Makes the bearer retain this central until the link has ended. Only for a bearer that is then started: one that
    /// never starts doesn't tell its end.
    func retainUntilEnd() { reference.central = self }

    /// Retains the central for its bearer until the bearer has ended.
    private final class Reference: Sendable {
        private let reference = Mutex<ConnectedCentral?>(nil)
        var central: ConnectedCentral? {
            get { reference.withLock { $0 } }
            set { reference.withLock { $0 = newValue } }
        }
    }

    /// Whether this central may access attributes that require authorization, ``AccessRequirement/authorized``; `false`
    /// until the program sets it, and for this link only.
    public var isAuthorized: Bool {
        get { bearer.serve { server, _ in server.client.isAuthorized } }
        set {
            bearer.serve { server, _ in server.setAuthorized(newValue) }
            bearer.resumeServing()
        }
    }

    /// The address under which its state is kept: its identity, if it has sent it.
    var identity: BluetoothAddress {
        get { state.withLock { $0.identity } ?? address }
        set { state.withLock { $0.identity = newValue } }
    }

    /// Whether its file has, or has had on this link, a bond with it.
    var hasStoredBond: Bool {
        get { state.withLock { $0.hasStoredBond } }
        set { state.withLock { $0.hasStoredBond = newValue } }
    }

    /// Drops the link to this central.
    public func disconnect() { bearer.close(DisconnectReason(.closedLocally)) }

    // MARK: - Events

    /// Its subscriptions now, but for those that the program isn't told of.
    func subscriptions(_ server: PeripheralServer) -> [PeripheralServer.SubscriptionChange] {
        let present = bearer.serve { server, _ in server.toldSubscriptions }.sorted { $0.key < $1.key }
        // The end of its link ends them, and is told by itself.
        guard bearer.end == nil else { return [] }
        return present.compactMap { change($0.value, of: $0.key, server) }
    }

    /// - Parameter characteristic: where that is known; `nil`: the one that is or was at the handle.
    private func change(
        _ subscription: ServerClient.Subscription,
        of handle: UInt16,
        _ server: PeripheralServer,
        _ characteristic: DatabaseCharacteristic? = nil
    ) -> PeripheralServer.SubscriptionChange? {
        // The server sends Service Changed itself: the program isn't told.
        guard server.database.withLock({ $0.serviceChanged?.valueHandle }) != handle else { return nil }
        let kind: PeripheralServer.SubscriptionChange.Kind =
            switch subscription {
            case .none: .none
            case .notify: .notify
            case .indicate: .indicate
            }
        return PeripheralServer.SubscriptionChange(
            central: self,
            characteristic: characteristic?.id ?? server.characteristic(at: handle),
            kind: kind,
            handle: handle
        )
    }

    private func tell(_ subscription: ServerClient.Subscription, of handle: UInt16, _ server: PeripheralServer) {
        let characteristic = characteristic(of: subscription, at: handle, server)
        guard let change = change(subscription, of: handle, server, characteristic) else { return }
        guard server.tell(.subscription(change), of: handle, characteristic) == .full, bearer.end == nil else { return }
        // Dropping only some of its changes would be worse: the program would take it for subscribed, or for not.
        server.warnings.tell(.subscriptionFlood(address)) { _ in .subscriptionFlood("by \(self)") }
        bearer.close(DisconnectReason(.protocolViolation))
    }

    /// The characteristic of a change of its subscriptions. One that ends may be of a service that has moved: where the
    /// handles have run out, another characteristic is at its handle now.
    private func characteristic(
        of subscription: ServerClient.Subscription,
        at handle: UInt16,
        _ server: PeripheralServer
    ) -> DatabaseCharacteristic? {
        let present = server.declared(at: handle)
        return state.withLock { state in
            let former = state.subscribed[handle]
            state.subscribed[handle] = subscription == .none ? nil : present
            return subscription == .none ? former ?? present : present
        }
    }

    private func handle(_ output: ATTServer.Output, _ server: PeripheralServer) {
        if output.lostPDUs > 0 { server.tellLoss(of: output.lostPDUs, by: self) }
        for change in output.subscriptionChanges { tell(change.subscription, of: change.characteristic, server) }
        if !output.subscriptionChanges.isEmpty || output.hasNewState { keepSoon(server) }
        for read in output.reads { ask(read, server) }
        for write in output.writes { take(write, server) }
        for write in output.lostWrites where server.hasDeclared(write.handle) {
            server.tell(.lostWrite(self, write.error), of: write.handle)
        }
        settle(output)
    }

    private func ask(_ read: ATTServer.PendingRead, _ server: PeripheralServer) {
        let name = server.characteristic(at: read.handle)
        let object = Self.object("of", name, read.handle, address)
        let closure = server.closures(at: read.handle)?.read
        let answer = PendingAnswer(bearer, read.token) { [weak server, isComputed = closure != nil] patience in
            server?.warnings.tell(.unanswered(read.handle)) { _ in
                .unanswered("read", object(), after: patience, byClosure: isComputed)
            }
        }
        if continueReading(read, answer) { return }
        if let closure { return compute(read, by: closure, answer, server, object: object) }
        let request = PeripheralServer.ReadRequest(central: self, characteristic: name, read: read, answer: answer)
        switch server.tell(.read(request), of: read.handle, onlyFirst: true) {
        case .yes: break
        case .full: request.reject(.insufficientResources)
        case .no:
            server.warnings.tell(.nobodyReads(read.handle)) { _ in
                .nobodyIterates("reads(of:)", "read", object())
            }
            request.reject(.unlikely)
        }
    }

    /// Lets closures check a write if there are any for it; otherwise reports it.
    private func take(_ write: ATTServer.ServerWrite, _ server: PeripheralServer) {
        let object = Self.object("to", server.characteristic(at: write.handle), write.handle, address)
        let closures = write.answer == .stored ? nil : server.closures(at: write.handle)
        var answer: PendingAnswer?
        if case .awaited(let token) = write.answer {
            answer = PendingAnswer(bearer, token) { [weak server, isJudged = closures?.write != nil] patience in
                server?.warnings.tell(.unanswered(write.handle)) { _ in
                    .unanswered("write", object(), after: patience, byClosure: isJudged)
                }
            }
        }
        if write.answer != .stored { state.withLock { $0.longReads.forget(write.handle) } }
        if let closures, closures.write != nil { return judge(write, by: closures, answer, server, object: object) }
        tell(write, answer, server)
    }

    /// Reports a write to the streams.
    ///
    /// - Parameter answer: the answer that the central waits for; `nil`: none.
    func tell(_ write: ATTServer.ServerWrite, _ answer: PendingAnswer?, _ server: PeripheralServer) {
        let name = server.characteristic(at: write.handle)
        let object = Self.object("to", name, write.handle, address)
        let request = PeripheralServer.WriteRequest(
            central: self,
            characteristic: name,
            offset: write.offset,
            value: write.value,
            answer: answer
        )
        switch server.tell(.write(request), of: write.handle, onlyFirst: answer != nil) {
        case .yes: break
        case .full:
            dropped(server)
            request.reject(.insufficientResources)
        case .no:
            if answer == nil { server.noteUnheard(write.value, at: write.handle, by: self) }
            guard write.answer != .stored else { return }
            server.warnings.tell(.nobodyTakesWrites(write.handle)) { _ in
                .nobodyIterates("writes(to:)", "write", object())
            }
            request.reject(.unlikely)
        }
    }

    /// Drops one of its writes, since they arrive faster than the program takes them.
    func dropped(_ server: PeripheralServer) {
        let count = state.withLock { state in
            state.droppedWrites += 1
            return state.droppedWrites
        }
        server.warnings.tell(.flood(address)) { _ in .flood("by \(self)", dropped: count) }
    }

    /// What a request is about; the text is made only when it is needed.
    private static func object(
        _ preposition: String,
        _ name: String,
        _ handle: UInt16,
        _ address: BluetoothAddress
    ) -> @Sendable () -> String {
        { "\(preposition) \(name) (handle \(handle.hexadecimal)) by \(address)" }
    }

    private func settle(_ output: ATTServer.Output) {
        let (confirmed, unconfirmed, roomy) = state.withLock { state in
            let confirmed = output.confirmed.compactMap { state.confirmations.removeValue(forKey: $0) }
            let unconfirmed = output.unconfirmed.compactMap { state.confirmations.removeValue(forKey: $0) }
            var roomy: [@Sendable () -> Void] = []
            if output.room.contains(.notifications) { roomy += state.notifications.takeWaiters() }
            if output.room.contains(.indications) { roomy += state.indications.takeWaiters() }
            if output.room.contains(.empty) { roomy += state.emptiness.takeWaiters() }
            return (confirmed, unconfirmed, roomy)
        }
        for result in confirmed { result(true) }
        for result in unconfirmed { result(false) }
        for tell in roomy { tell() }
        if output.room.contains(.backlog) { tellBacklog() }
    }

    private func ended(_ reason: DisconnectReason) {
        let (confirmations, roomy, timers) = state.withLock { state in
            state.end = reason
            defer { (state.confirmations, state.resuming, state.keeping, state.encryption) = ([:], [], nil, nil) }
            let roomy =
                state.notifications.takeWaiters() + state.indications.takeWaiters() + state.emptiness.takeWaiters()
            let timers = state.resuming + [state.keeping, state.encryption].compactMap { $0 }
            return (state.confirmations.sorted { $0.key < $1.key }.map(\.value), roomy, timers)
        }
        for timer in timers { timer.cancel() }
        for result in confirmations { result(false) }
        for tell in roomy { tell() }
        tellBacklog()
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
