import BLEProtocol
import BLERadio
import Synchronization

/// Drives the ``LinkMachine`` of one link: PDUs in and out, timers, and the end.
///
/// It has no policy: the machine decides, the bearer carries out. Everything arrives on the radio's context or on a
/// caller's, as one ``step(_:)``: the bearer asks the machine under its only lock, and does what the machine says after
/// releasing it.
final class Bearer: Sendable {
    typealias OperationID = LinkMachine.OperationID
    typealias Pass = LinkMachine.Pass

    /// Callbacks to the rest of the library; each is called without a lock.
    struct Surroundings: Sendable {
        /// What the peer did to our own attributes.
        var served: @Sendable (ATTServer.Output) -> Void = { _ in }
        /// The peer wanted the link encrypted, and that failed.
        var securityFailed: @Sendable (BLEError) -> Void = { _ in }
        /// The peer has had the radio make a bond.
        var paired: @Sendable (Bond) -> Void = { _ in }
        /// What to store about the peer for later links.
        var remember: @Sendable (DatabaseTracker.Memory) -> Void = { _ in }
        /// The subscriptions that a bonded peer keeps for the next link.
        var keep: @Sendable ([LinkMachine.KeptSubscription]) -> Void = { _ in }
        /// The peer's services have changed.
        var servicesChanged: @Sendable (GATTDatabase) -> Void = { _ in }
        /// The security that the program demands before certain characteristics are used.
        var demands: @Sendable () -> SecurityDemands = { SecurityDemands() }
        /// This side gives the link up, and the radio is about to drop it; perhaps more than once.
        var closing: @Sendable () -> Void = {}
        /// The link has ended. Called once, after all other calls.
        var ended: @Sendable (DisconnectReason) -> Void = { _ in }
    }

    struct State {
        var machine: LinkMachine
        /// The callers of operations, who are told of the end and give pairing answers; the oldest first, and few.
        var calls: [Call] = []
        /// Wishes for a more secure link, until they are fulfilled or withdrawn.
        var raises: SmallTable<LinkMachine.RaiseID, Ending<Void>> = [:]
        /// Makes the link more secure; `nil` if nobody does, and after the end.
        var raiser: SecurityRaiser?
        /// The waits of the database, by number.
        var waits: SmallTable<Int, RadioActivity> = [:]
        var alarms = Alarms()
        /// Called when the last subscription is switched off.
        var whenQuiet: (@Sendable () -> Void)?
        /// Continues a turn to send that one caller has had for long enough.
        var successor: RadioActivity?
        /// The number of turns passed on.
        var handOvers = 0
    }

    /// An operation, and who is told of its end.
    struct Call {
        let id: OperationID
        let caller: any OperationCaller
    }

    /// The caller of an operation that a step has ended, and what it is told.
    struct Told {
        let caller: any OperationCaller
        let result: Result<GATTSuccess, LinkFailure>
    }

    /// Those that a step has ended, in order, without the withdrawn ones.
    typealias Callers = Few<Told>

    let radioLink: any ATTLink
    let timeline: any Timeline
    let database: SharedDatabase
    let surroundings: Surroundings
    let peripheral: BluetoothAddress
    /// Whether the program's files contain a bond with the peer.
    private let isBonded: Bool
    let state: Mutex<State>
    /// The characteristics of which the peer may still be sending a report that was requested on this link.
    let unfinishedReports = Mutex<Set<CharacteristicReference>>([])
    /// The last number of a request whose answer repeats it: see ``CommandContext/nextRequestNumber()``.
    let requestNumber = Atomic<UInt8>(0)

    /// - Parameters:
    ///   - database: our own attributes.
    ///   - servedClient: what is known about the peer as a client of them.
    ///   - remembered: the peer's services on the last link.
    ///   - tellsLater: whether the peer reports services that it changed while there was no link.
    ///   - isBonded: whether the program's files contain a bond with the peer.
    init(
        _ radioLink: any ATTLink,
        timeline: any Timeline,
        database: SharedDatabase,
        servedClient: ServerClient = ServerClient(),
        remembered: RememberedDatabase? = nil,
        tellsLater: Bool = false,
        isBonded: Bool = false,
        _ surroundings: Surroundings
    ) {
        self.radioLink = radioLink
        self.timeline = timeline
        self.database = database
        self.isBonded = isBonded
        self.surroundings = surroundings
        peripheral = radioLink.peer
        let maximumMTU = min(517, radioLink.maximumPDUSize)
        let machine = LinkMachine(
            maximumMTU: maximumMTU,
            servedClient: servedClient,
            remembered: remembered,
            tellsLater: tellsLater,
            isResumed: radioLink.isResumed
        )
        state = Mutex(State(machine: machine))
    }

    /// Starts taking PDUs from the radio.
    ///
    /// - Parameters:
    ///   - raiser: makes the link more secure after a refusal; kept until the end of the link.
    ///   - kept: what the peer may have been subscribed to since an earlier link.
    func start(_ raiser: SecurityRaiser? = nil, kept: [LinkMachine.KeptSubscription] = []) {
        let now = timeline.now
        change { state, output in
            state.machine.begin(now: now, kept: kept, &output)
            state.raiser = raiser
        }
        radioLink.start(self)
    }

    /// Gives up the link, for this reason.
    func close(_ reason: DisconnectReason) {
        state.withLock { $0.machine.close(reason) }
        disconnect()
    }

    private func disconnect() {
        surroundings.closing()
        radioLink.disconnect()
    }

    // MARK: - One step

    /// Asks the machine, then does what it says.
    @discardableResult
    func step<Result>(_ body: (inout LinkMachine, inout LinkMachine.Output) -> Result) -> Result {
        change { state, output in body(&state.machine, &output) }
    }

    /// Asks the machine, and finds the callers concerned. Then does what the machine says: delivers values, sends the
    /// next PDU and all that follow, and does the rest in the order of ``carryOut(_:_:)``.
    func change<Result>(_ body: (inout State, inout LinkMachine.Output) -> Result) -> Result {
        var output = LinkMachine.Output()
        var callers = Callers()
        var outgoing: LinkMachine.Outgoing?
        let result = state.withLock { state in
            if state.machine.early.isOpen { state.machine.now = timeline.now }
            let result = body(&state, &output)
            // An indication is confirmed only once its consumer has it: deliver first, then send.
            if output.hasIndication {
                state.machine.turn.isHeldBack = true
            } else {
                outgoing = state.machine.nextOutgoing()
            }
            prepare(&state, &output, &callers)
            return result
        }
        deliver(output.deliveries)
        if output.hasIndication {
            outgoing = state.withLock { state in
                state.machine.turn.isHeldBack = false
                return state.machine.nextOutgoing()
            }
        }
        if let outgoing { send(outgoing) }
        carryOut(&output, &callers)
        return result
    }

    func deliver(_ deliveries: [LinkMachine.Delivery]) {
        for delivery in deliveries {
            for consumer in delivery.consumers { consumer.deliver(delivery.values) }
        }
    }

    // An output is passed on in place: a closure captures it, and a copy would be made of it for each call.

    /// Does what must happen under the lock, since later steps may undo it; finds the callers concerned.
    func prepare(_ state: inout State, _ output: inout LinkMachine.Output, _ callers: inout Callers) {
        set(output.clientTimer, output.serverTimer, &state)
        if let rest = output.rest {
            for wait in rest.waits { set(wait, &state) }
            for raise in rest.raises {
                if let id = raise.begins { state.raises[id] = Ending() }
            }
        }
        output.finished.drain { outcome in
            guard let index = state.calls.firstIndex(where: { $0.id == outcome.id }) else { return }
            callers.append(Told(caller: state.calls.take(at: index).caller, result: outcome.result))
        }
    }

    /// Does what happens without the lock, after the deliveries.
    func carryOut(_ output: inout LinkMachine.Output, _ callers: inout Callers) {
        guard let rest = output.rest else { return tell(&callers) }
        for limit in rest.limits { caller(of: limit.id)?.limit(to: limit.duration) }
        for memory in rest.memory { surroundings.remember(memory) }
        if let kept = rest.kept { surroundings.keep(kept) }
        for notice in rest.notices { tell(notice) }
        tell(&callers)
        if let changed = rest.changed { surroundings.servicesChanged(changed) }
        for served in rest.served { surroundings.served(served) }
        for raise in rest.raises { carryOut(raise) }
        if rest.isQuiet { state.withLock { $0.whenQuiet.take() }?() }
        if rest.mustDisconnect { disconnect() }
    }
}

extension Bearer {
    private func tell(_ callers: inout Callers) {
        callers.drain { told in told.caller.ended(told.result) }
    }
}

// MARK: - What there is to see

extension Bearer {
    /// ATT_MTU in force, in octets.
    var mtu: Int { state.withLock { $0.machine.client.mtu } }

    /// The smallest ATT_MTU by which the peer may cut an answer.
    var leastMTU: Int { state.withLock { $0.machine.client.leastMTU } }

    /// Why the link has ended; `nil` while it is up.
    var end: DisconnectReason? { state.withLock { $0.machine.end ?? $0.machine.closeReason } }

    /// Whether anything has been received.
    var hasReceived: Bool { state.withLock { $0.machine.hasReceived } }

    /// PDUs that the radio or kernel has dropped.
    var drops: Int { state.withLock { $0.machine.drops } }

    /// The subscriptions that were made anew elsewhere, since the services had changed.
    var moves: Int { state.withLock { $0.machine.moves } }

    /// The number of PDUs for the client half that were unexpected, and ignored.
    var ignored: Int { state.withLock { $0.machine.ignored } }

    /// The peer's services; `nil` unless they may be used at once.
    var knownDatabase: GATTDatabase? { state.withLock { $0.machine.tracker.current } }

    /// What was discovered of chosen services; empty once all services are known.
    var chosen: ChosenServices { state.withLock { $0.machine.chosen } }

    /// Whether the services in use were remembered from an earlier link.
    var isFromMemory: Bool { state.withLock { $0.machine.tracker.isFromMemory } }

    /// Whether this link has changed what is remembered of the services.
    var hasChangedMemory: Bool { state.withLock { $0.machine.hasChangedMemory } }

    /// Whether this hold still has the link.
    func isHeld(by pass: Pass?) -> Bool { state.withLock { $0.machine.lane.isHeld(by: pass) } }

    /// Whether the running task would wait for its own hold to end.
    func wouldWaitForItself(with pass: Pass?) -> Bool {
        guard let own = LaneHolds.current?.pass(of: self), own != pass else { return false }
        return isHeld(by: own)
    }

    /// The security of the link at this moment. Nothing reports its changes.
    var security: ATTSecurity {
        let now = radioLink.security
        return ATTSecurity(
            isEncrypted: now.isEncrypted,
            isAuthenticated: now.isAuthenticated,
            keySize: now.keySize,
            hasKey: now.isEncrypted || isBonded || radioLink.hasKey
        )
    }
}

// MARK: - The server half

extension Bearer {
    /// Runs the closure on the server half, and carries out the result.
    func serve<Output>(_ action: (inout ATTServer, inout AttributeDatabase) -> Output) -> Output {
        step { machine, _ in self.database.withLock { action(&machine.server, &$0) } }
    }

    /// Updates the server half with the present security of the link.
    func refreshSecurity() {
        let now = security
        step { machine, output in
            machine.server.setSecurity(now)
            self.resumeServing(&machine, waitsForSecurity: true, &output)
        }
    }

    /// Tells the program of the peer's kept subscriptions that may be used now.
    ///
    /// - Parameter waitsForSecurity: whether to wait with the others until the link is secure enough.
    func resumeServing(waitsForSecurity: Bool = true) {
        step { machine, output in
            self.resumeServing(&machine, waitsForSecurity: waitsForSecurity, &output)
        }
    }

    private func resumeServing(
        _ machine: inout LinkMachine,
        waitsForSecurity: Bool,
        _ output: inout LinkMachine.Output
    ) {
        guard machine.server.hasKept else { return }
        let server = database.withLock { machine.server.resume(with: $0, waitsForSecurity: waitsForSecurity) }
        machine.take(server, &output)
    }

    /// Updates the server half after a change of the attributes.
    func synchronize() {
        step { machine, output in
            let server = self.database.withLock { machine.server.synchronize(with: $0) }
            machine.take(server, &output)
        }
    }

    /// Answers a request that the server half has passed to the program.
    func respond(to token: ATTServer.RequestToken, with result: Result<[UInt8], ATTError>) {
        step { machine, output in
            let server = self.database.withLock { machine.server.respond(to: token, with: result, database: &$0) }
            machine.take(server, &output)
        }
    }
}
