import BLEProtocol
import BLERadio
import Synchronization

/// Drives the two halves of one ATT bearer, client and server: PDUs in, PDUs out, timers, and the end.
///
/// It holds no policy: the machines decide, this carries out. Everything arrives on the radio's context or on a
/// caller's; closures are called, values delivered and PDUs handed to the radio after the lock is left.
final class Bearer: Sendable {
    typealias Completion = @Sendable (Result<any Sendable, GATTFailure>) -> Void
    typealias ProcedureID = GATTClient.ProcedureID

    /// Takes the values of one characteristic.
    struct Route: Sendable {
        let id: Int
        /// Takes what one wake-up of the radio brought, in order; never empty.
        let deliver: @Sendable ([CharacteristicValue]) -> Void
        /// Hears that so many values were dropped before they came here.
        let lost: @Sendable (Int) -> Void
    }

    struct State {
        var client: GATTClient
        var server: ATTServer
        /// Of the procedures under way, the oldest first: they end in about this order, so the search is short.
        var completions: [(id: ProcedureID, completion: Completion)] = []
        var routes: SmallTable<UInt16, [Route]> = [:]
        var early = EarlyValues()
        var sending = Sending()
        var alarms = Alarms()
        var end: DisconnectReason?
        /// Whether anything has come over the link.
        var hasReceived = false
        /// Why this side gave the bearer up; the radio will only tell that it was closed locally.
        var closeReason: DisconnectReason?
        var drops = 0
        /// PDUs of the peer that belonged to nothing.
        var ignored = 0
    }

    /// What is to be done after the lock is left.
    struct Effects {
        var finished: [(Completion, Result<any Sendable, GATTFailure>)] = []
        var deliveries: [Delivery] = []
        /// Whether an indication is among the deliveries: nothing is sent before these are made.
        var hasIndication = false
        var serverOutputs: [ATTServer.Output] = []
        var mustDisconnect = false
    }

    /// Values of one characteristic that came one after the other.
    struct Delivery {
        let handle: UInt16
        let routes: [Route]
        var values: [CharacteristicValue]
    }

    let radioLink: any ATTLink
    let timeline: any Timeline
    let database: SharedDatabase
    /// Whether there is a bond with the peer, as far as the program's files say.
    private let isBonded: Bool
    private let onServer: @Sendable (ATTServer.Output) -> Void
    private let onSecurityFailure: @Sendable (BLEError) -> Void
    private let onClosing: @Sendable () -> Void
    let onEnd: @Sendable (DisconnectReason) -> Void
    let state: Mutex<State>

    /// - Parameters:
    ///   - servedClient: what is known of the peer as a client of our own attributes.
    ///   - isBonded: whether there is a bond with it, as far as the program's files say.
    ///   - onServer: what the peer did to our own attributes.
    ///   - onSecurityFailure: the peer wanted the link encrypted, and nothing came of it.
    ///   - onClosing: this side gives the bearer up, and the radio is about to drop the link; perhaps more than once.
    ///   - onEnd: called once, as the last of all calls.
    init(
        _ radioLink: any ATTLink,
        timeline: any Timeline,
        database: SharedDatabase,
        servedClient: ServerClient = ServerClient(),
        isBonded: Bool = false,
        onServer: @escaping @Sendable (ATTServer.Output) -> Void,
        onSecurityFailure: @escaping @Sendable (BLEError) -> Void = { _ in },
        onClosing: @escaping @Sendable () -> Void = {},
        onEnd: @escaping @Sendable (DisconnectReason) -> Void
    ) {
        self.radioLink = radioLink
        self.timeline = timeline
        self.database = database
        self.isBonded = isBonded
        self.onServer = onServer
        self.onSecurityFailure = onSecurityFailure
        self.onClosing = onClosing
        self.onEnd = onEnd
        let maximumMTU = min(517, radioLink.maximumPDUSize)
        state = Mutex(
            State(
                client: GATTClient(maximumMTU: maximumMTU),
                server: ATTServer(maximumMTU: maximumMTU, client: servedClient)
            )
        )
    }

    /// Starts taking PDUs from the radio.
    func start() {
        let now = timeline.now
        state.withLock { $0.early.begin(now: now) }
        radioLink.start(self)
    }

    /// ATT_MTU in force, in octets.
    var mtu: Int { state.withLock { $0.client.mtu } }

    /// Why the bearer is over; `nil` while it isn't.
    var end: DisconnectReason? { state.withLock { $0.end ?? $0.closeReason } }

    /// Whether anything has come over the link.
    var hasReceived: Bool { state.withLock { $0.hasReceived } }

    /// PDUs that the radio or kernel has dropped.
    var drops: Int { state.withLock { $0.drops } }

    /// PDUs for the client half that belonged to nothing, and were ignored.
    var ignored: Int { state.withLock { $0.ignored } }

    /// Gives the bearer up, for the given reason.
    func close(_ reason: DisconnectReason) {
        state.withLock { state in
            if state.closeReason == nil { state.closeReason = reason }
        }
        disconnect()
    }

    private func disconnect() {
        onClosing()
        radioLink.disconnect()
    }

    // MARK: - The client half

    /// Begins a procedure; its result comes exactly once, also when the bearer ends.
    @discardableResult
    func begin(_ procedure: some GATTProcedure, completion: @escaping Completion) -> ProcedureID {
        change { state, effects in
            let (id, output) = state.client.begin(procedure)
            state.completions.append((id, completion))
            self.take(output, &state, &effects)
            return id
        }
    }

    /// Takes a procedure back; its result, if it is still due, comes at once.
    func cancel(_ id: ProcedureID) {
        change { state, effects in self.take(state.client.cancel(id), &state, &effects) }
    }

    /// Takes note that handles may mean something else from now on: what names them and has not been sent ends.
    func invalidate(_ handles: ClosedRange<UInt16>) {
        change { state, effects in self.take(state.client.invalidate(handles), &state, &effects) }
    }

    /// Has the values of a characteristic delivered from now on, after those that have come early.
    func addRoute(_ handle: UInt16, _ route: Route) {
        while true {
            let early = state.withLock { state in
                let early = state.early.take(handle, now: timeline.now)
                if early.isEmpty { state.routes[handle, default: []].append(route) }
                return early
            }
            guard !early.isEmpty else { return }
            // What comes meanwhile is early too, so the order stays.
            route.deliver(early)
        }
    }

    func removeRoute(_ handle: UInt16, id: Int) {
        state.withLock { state in
            state.routes[handle]?.removeAll { $0.id == id }
            if state.routes[handle]?.isEmpty == true { state.routes[handle] = nil }
        }
    }

    /// Has requests and commands wait, or lets them go on.
    ///
    /// - Parameter isHeld: says which, with what it reads: of several who call it at once the last one sees the truth.
    func holdRequests(_ isHeld: () -> Bool) {
        change { state, _ in state.client.isHeld = isHeld() }
    }

    // MARK: - The server half

    /// Lets something be done to the server half, and carries out what follows from it.
    func serve<Output>(_ action: (inout ATTServer, inout AttributeDatabase) -> Output) -> Output {
        change { state, _ in self.database.withLock { action(&state.server, &$0) } }
    }

    /// How the link is protected at this moment. Nobody tells when that changes.
    var security: ATTSecurity {
        let now = radioLink.security
        return ATTSecurity(
            isEncrypted: now.isEncrypted,
            isAuthenticated: now.isAuthenticated,
            keySize: now.keySize,
            hasKey: now.isEncrypted || isBonded || radioLink.hasKey
        )
    }

    /// Has the server half take note of how the link is protected at this moment.
    func refreshSecurity() {
        let now = security
        state.withLock { $0.server.setSecurity(now) }
    }

    func securityFailed(_ error: BLEError) { onSecurityFailure(error) }

    /// Has the server half take note of a change of the attributes.
    func synchronize() {
        change { state, effects in
            let output = self.database.withLock { state.server.synchronize(with: $0) }
            self.take(output, &state, &effects)
        }
    }

    /// Answers a question of the server half.
    func respond(to token: ATTServer.RequestToken, with result: Result<[UInt8], ATTError>) {
        change { state, effects in
            let output = self.database.withLock { state.server.respond(to: token, with: result, database: &$0) }
            self.take(output, &state, &effects)
        }
    }

    // MARK: - Carrying out

    func change<Output>(_ body: (inout State, inout Effects) -> Output) -> Output {
        var effects = Effects()
        var outgoing: Outgoing?
        let output = state.withLock { state in
            let output = body(&state, &effects)
            // An indication is confirmed only once its consumer has it: what is delivered comes before what is sent.
            if effects.hasIndication { state.sending.isHeldBack = true } else { outgoing = nextOutgoing(&state) }
            return output
        }
        for delivery in effects.deliveries {
            for route in delivery.routes { route.deliver(delivery.values) }
        }
        if effects.hasIndication {
            outgoing = state.withLock { state in
                state.sending.isHeldBack = false
                return nextOutgoing(&state)
            }
        }
        if let outgoing { send(outgoing) }
        perform(effects)
        return output
    }

    func take(_ output: GATTClient.Output, _ state: inout State, _ effects: inout Effects) {
        state.ignored += output.notes.count
        for finished in output.finished {
            guard let index = state.completions.firstIndex(where: { $0.id == finished.id }) else { continue }
            effects.finished.append((state.completions.remove(at: index).completion, finished.result))
        }
        for value in output.values {
            if value.isIndication { effects.hasIndication = true }
            let delivered = CharacteristicValue(bytes: value.value, time: value.time, isIndication: value.isIndication)
            take(delivered, of: value.handle, &state, &effects)
        }
        switch output.timer {
        case .start(let id, let duration)?: state.alarms.client = (id, setAlarm(in: duration, &state))
        case .stop?: state.alarms.client = nil
        case nil: break
        }
        if let reason = output.close {
            if state.closeReason == nil { state.closeReason = reason }
            effects.mustDisconnect = true
        }
    }

    /// Puts a value to those before it, where they are of the same characteristic.
    private func take(
        _ value: CharacteristicValue,
        of handle: UInt16,
        _ state: inout State,
        _ effects: inout Effects
    ) {
        let last = effects.deliveries.count - 1
        if last >= 0, effects.deliveries[last].handle == handle {
            effects.deliveries[last].values.append(value)
        } else {
            take([value], of: handle, &state, &effects)
        }
    }

    /// Has values delivered that came one after the other.
    func take(
        _ values: [CharacteristicValue],
        of handle: UInt16,
        _ state: inout State,
        _ effects: inout Effects
    ) {
        if let routes = state.routes[handle] {
            effects.deliveries.append(Delivery(handle: handle, routes: routes, values: values))
        } else {
            for value in values { state.early.keep(value, of: handle, now: timeline.now) }
        }
    }

    func take(_ output: ATTServer.Output, _ state: inout State, _ effects: inout Effects) {
        if let mtu = output.mtu { state.client.setMTU(mtu) }
        if output.concernsProgram { effects.serverOutputs.append(output) }
        switch output.timer {
        case .start(let id, let duration)?: state.alarms.server = (id, setAlarm(in: duration, &state))
        case .stop?: state.alarms.server = nil
        case nil: break
        }
        if let reason = output.close {
            if state.closeReason == nil { state.closeReason = reason }
            effects.mustDisconnect = true
        }
    }

    func perform(_ effects: borrowing Effects) {
        for (completion, result) in effects.finished { completion(result) }
        for output in effects.serverOutputs { onServer(output) }
        if effects.mustDisconnect { disconnect() }
    }
}

extension ATTServer.Output {
    /// Whether there is something in it for the program, and not for the driver alone.
    fileprivate var concernsProgram: Bool {
        !reads.isEmpty || !writes.isEmpty || !subscriptionChanges.isEmpty || !confirmed.isEmpty || !unconfirmed.isEmpty
            || !cancelled.isEmpty || !room.isEmpty
    }
}
