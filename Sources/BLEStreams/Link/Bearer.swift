import BLEProtocol
import BLERadio
import Synchronization

/// Drives the two halves of one ATT bearer, client and server: PDUs in, PDUs out, timers, and the end.
///
/// It holds no policy: the machines decide, this carries out. Everything arrives on the radio's context or on a
/// caller's; closures are called, and values delivered, after the lock is left.
final class Bearer: Sendable {
    typealias Completion = @Sendable (Result<any Sendable, GATTFailure>) -> Void
    typealias ProcedureID = GATTClient.ProcedureID

    /// Takes the values of one characteristic.
    struct Route: Sendable {
        let id: Int
        let deliver: @Sendable (CharacteristicValue) -> Void
    }

    private struct State {
        var client: GATTClient
        var server: ATTServer
        var completions: [ProcedureID: Completion] = [:]
        var routes: [UInt16: [Route]] = [:]
        var clientTimer = Deadline<GATTClient.TimerID>()
        var serverTimer = Deadline<ATTServer.IndicationID>()
        /// The one timer that is scheduled, and for when; it looks at both deadlines.
        var alarm: RadioActivity?
        var alarmTime: Duration?
        var isBlocked = false
        var end: DisconnectReason?
        /// Why this side gave the bearer up; the radio will only tell that it was closed locally.
        var closeReason: DisconnectReason?
        var drops = 0
    }

    /// A timer of a machine: which one, and when it is due.
    private struct Deadline<ID: Sendable>: Sendable {
        var timer: (id: ID, due: Duration)?
    }

    /// What is to be done after the lock is left.
    private struct Effects {
        var finished: [(Completion, Result<any Sendable, GATTFailure>)] = []
        var deliveries: [(Route, CharacteristicValue)] = []
        var serverOutputs: [ATTServer.Output] = []
        var mustDisconnect = false
    }

    let radioLink: any ATTLink
    let timeline: any Timeline
    private let database: SharedDatabase
    private let onServer: @Sendable (ATTServer.Output) -> Void
    private let onEnd: @Sendable (DisconnectReason) -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - onServer: what the peer did to our own attributes.
    ///   - onEnd: called once, as the last of all calls.
    init(
        _ radioLink: any ATTLink,
        timeline: any Timeline,
        database: SharedDatabase,
        onServer: @escaping @Sendable (ATTServer.Output) -> Void,
        onEnd: @escaping @Sendable (DisconnectReason) -> Void
    ) {
        self.radioLink = radioLink
        self.timeline = timeline
        self.database = database
        self.onServer = onServer
        self.onEnd = onEnd
        let maximumMTU = min(517, radioLink.maximumPDUSize)
        state = Mutex(State(client: GATTClient(maximumMTU: maximumMTU), server: ATTServer(maximumMTU: maximumMTU)))
    }

    /// Starts taking PDUs from the radio.
    func start() { radioLink.start(self) }

    /// ATT_MTU in force, in octets.
    var mtu: Int { state.withLock { $0.client.mtu } }

    /// Why the bearer is over; `nil` while it isn't.
    var end: DisconnectReason? { state.withLock { $0.end ?? $0.closeReason } }

    /// PDUs that the radio or kernel has dropped.
    var drops: Int { state.withLock { $0.drops } }

    /// Gives the bearer up, for the given reason.
    func close(_ reason: DisconnectReason) {
        state.withLock { state in
            if state.closeReason == nil { state.closeReason = reason }
        }
        radioLink.disconnect()
    }

    // MARK: - The client half

    /// Begins a procedure; its result comes exactly once, also when the bearer ends.
    @discardableResult
    func begin(_ procedure: some GATTProcedure, completion: @escaping Completion) -> ProcedureID {
        change { state, effects in
            let (id, output) = state.client.begin(procedure)
            state.completions[id] = completion
            self.take(output, &state, &effects)
            return id
        }
    }

    /// Takes a procedure back; its result, if it is still due, comes at once.
    func cancel(_ id: ProcedureID) {
        change { state, effects in self.take(state.client.cancel(id), &state, &effects) }
    }

    func addRoute(_ handle: UInt16, _ route: Route) {
        state.withLock { $0.routes[handle, default: []].append(route) }
    }

    func removeRoute(_ handle: UInt16, id: Int) {
        state.withLock { state in
            state.routes[handle]?.removeAll { $0.id == id }
            if state.routes[handle]?.isEmpty == true { state.routes[handle] = nil }
        }
    }

    // MARK: - The server half

    /// Lets something be done to the server half, and carries out what follows from it.
    func serve<Output>(_ action: (inout ATTServer, inout AttributeDatabase) -> Output) -> Output {
        change { state, _ in self.database.withLock { action(&state.server, &$0) } }
    }

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

    private func change<Output>(_ body: (inout State, inout Effects) -> Output) -> Output {
        var effects = Effects()
        let output = state.withLock { state in
            let output = body(&state, &effects)
            // An indication is confirmed only once its consumer has it: what is delivered comes before what is sent.
            if effects.deliveries.isEmpty { pump(&state, &effects) }
            return output
        }
        if !effects.deliveries.isEmpty {
            for (route, value) in effects.deliveries { route.deliver(value) }
            state.withLock { pump(&$0, &effects) }
        }
        perform(effects)
        return output
    }

    private func take(_ output: GATTClient.Output, _ state: inout State, _ effects: inout Effects) {
        for finished in output.finished {
            guard let completion = state.completions.removeValue(forKey: finished.id) else { continue }
            effects.finished.append((completion, finished.result))
        }
        for value in output.values {
            guard let routes = state.routes[value.handle] else { continue }
            let delivered = CharacteristicValue(
                bytes: value.value,
                time: value.time,
                isIndication: value.isIndication
            )
            for route in routes { effects.deliveries.append((route, delivered)) }
        }
        switch output.timer {
        case .start(let id, let duration)?:
            state.clientTimer.timer = (id, setAlarm(in: duration, &state))
        case .stop?: state.clientTimer.timer = nil
        case nil: break
        }
        if let reason = output.close {
            if state.closeReason == nil { state.closeReason = reason }
            effects.mustDisconnect = true
        }
    }

    private func take(_ output: ATTServer.Output, _ state: inout State, _ effects: inout Effects) {
        if let mtu = output.mtu { state.client.setMTU(mtu) }
        if output.concernsProgram { effects.serverOutputs.append(output) }
        switch output.timer {
        case .start(let id, let duration)?:
            state.serverTimer.timer = (id, setAlarm(in: duration, &state))
        case .stop?: state.serverTimer.timer = nil
        case nil: break
        }
        if let reason = output.close {
            if state.closeReason == nil { state.closeReason = reason }
            effects.mustDisconnect = true
        }
    }

    /// Hands PDUs to the radio for as long as there are any and it takes them.
    private func pump(_ state: inout State, _ effects: inout Effects) {
        guard !state.isBlocked, state.end == nil else { return }
        while true {
            state.server.isExchangingMTU = state.client.isExchangingMTU
            if state.server.mtu != state.client.mtu { state.server.setMTU(state.client.mtu) }
            if let pdu = state.server.nextPDU() {
                guard radioLink.send(pdu) == .sent else { break }
                take(state.server.sent(), &state, &effects)
            } else if let pdu = state.client.nextPDU() {
                guard radioLink.send(pdu) == .sent else { break }
                take(state.client.sent(), &state, &effects)
            } else {
                return
            }
        }
        // Full, or over: in both cases the radio calls when there is something to do.
        state.isBlocked = true
    }

    private func perform(_ effects: Effects) {
        for (completion, result) in effects.finished { completion(result) }
        for output in effects.serverOutputs { onServer(output) }
        if effects.mustDisconnect { radioLink.disconnect() }
    }

    // MARK: - Timers

    /// Requests come and go much faster than they time out: the alarm that is set stays set, and looks again.
    ///
    /// - Returns: when the time will be over.
    private func setAlarm(in duration: Duration, _ state: inout State) -> Duration {
        let due = timeline.now + duration
        if let time = state.alarmTime, time <= due { return due }
        state.alarm?.cancel()
        state.alarmTime = due
        state.alarm = timeline.schedule(after: duration) { [weak self] in self?.alarmRang() }
        return due
    }

    private func alarmRang() {
        change { state, effects in
            state.alarmTime = nil
            let now = self.timeline.now
            if let timer = state.clientTimer.timer {
                if timer.due <= now {
                    state.clientTimer.timer = nil
                    self.take(state.client.timerFired(timer.id), &state, &effects)
                } else {
                    _ = self.setAlarm(in: timer.due - now, &state)
                }
            }
            if let timer = state.serverTimer.timer {
                if timer.due <= now {
                    state.serverTimer.timer = nil
                    self.take(state.server.timerFired(timer.id), &state, &effects)
                } else {
                    _ = self.setAlarm(in: timer.due - now, &state)
                }
            }
        }
    }
}

// MARK: - From the radio

extension Bearer: ATTLinkReceiver {
    func linkReceived(_ pdus: [ReceivedPDU]) {
        change { state, effects in
            for pdu in pdus where state.end == nil {
                guard let first = pdu.bytes.first else { continue }
                switch ATTOpcode(rawValue: first).kind {
                case .response where !ATTServer.answersIndication(pdu.bytes), .notification, .indication:
                    self.take(state.client.received(pdu.bytes, at: pdu.time), &state, &effects)
                case .request, .command, .confirmation, .response, .unknown:
                    let security = ATTSecurity(self.radioLink.security)
                    let output = self.database.withLock {
                        state.server.received(pdu.bytes, security: security, database: &$0)
                    }
                    self.take(output, &state, &effects)
                }
            }
        }
    }

    func linkDropped(_ count: Int) {
        state.withLock { $0.drops += count }
    }

    func linkBecameWritable() {
        change { state, _ in state.isBlocked = false }
    }

    func linkEnded(_ reason: DisconnectReason) {
        let final = change { state, effects in
            let final = state.closeReason ?? reason
            state.end = final
            self.take(state.client.ended(final), &state, &effects)
            self.take(state.server.ended(), &state, &effects)
            state.clientTimer.timer = nil
            state.serverTimer.timer = nil
            state.alarm?.cancel()
            state.alarm = nil
            return final
        }
        state.withLock { $0.routes = [:] }
        onEnd(final)
    }
}

extension ATTServer.Output {
    /// Whether there is something in it for the program, and not for the driver alone.
    fileprivate var concernsProgram: Bool {
        !reads.isEmpty || !writes.isEmpty || !subscriptionChanges.isEmpty || !confirmed.isEmpty || !unconfirmed.isEmpty
            || !cancelled.isEmpty || hasRoom
    }
}

extension ATTSecurity {
    fileprivate init(_ security: LinkSecurity) {
        self.init(
            isEncrypted: security.isEncrypted,
            isAuthenticated: security.isAuthenticated,
            keySize: security.keySize
        )
    }
}
