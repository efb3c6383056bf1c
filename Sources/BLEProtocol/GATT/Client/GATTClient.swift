/// The client half of an ATT bearer, as a value: procedures in, PDUs and results out.
///
/// Three lanes lead to the radio and don't wait for one another:
/// ```
/// confirmations   one per indication                                        ─┐
/// commands        begin(WriteCommand) → finished when the radio took it     ─┼─► nextPDU() → radio → sent()
/// requests        begin → queue → [slot: one request at a time] → finished  ─┘
///
/// the slot   free ─► running ─► free                  the procedure ended by itself
///                    running ─► cleaning up ─► free   it failed or was cancelled, and left something to undo
///                    running ─► abandoned ─► …        it was cancelled: the answer is still awaited
///                    any, 30 s without an answer ─► closed
/// ```
/// The slot is in use until the request is answered or its time is over; other PDUs that the peer sends meanwhile are
/// not answers, and are ignored with a note. Otherwise each later answer would be mistaken for that of the previous
/// request.
///
/// The driver takes PDUs with ``nextPDU()`` and reports what happened to them, one at a time, until there is nothing to
/// send or the radio is full: ``sending()`` before it passes one on without its lock, then ``sent()`` or ``notSent()``.
/// Source: Core Specification, Vol 3, Part F, 3.3 and Part G, 4.
@usableFromInline
package struct GATTClient: Sendable {
    /// Identifies a procedure; later ones compare greater.
    package struct ProcedureID: Hashable, Sendable, Comparable {
        package let number: UInt64

        package init(number: UInt64) { self.number = number }

        package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// Identifies a start of the transaction timer. A timer that fires with an id other than the last one is ignored.
    package struct TimerID: Hashable, Sendable {
        package let number: UInt64

        package init(number: UInt64) { self.number = number }
    }

    /// How long a server may take to answer. Source: Vol 3, Part F, 3.3.3.
    package static let transactionTimeout = Duration.seconds(30)

    /// How long a server may take to answer Exchange MTU before the link is used without the answer.
    ///
    /// Any other unanswered request ends the bearer, since its answer might be mistaken for another one's. This one is
    /// optional for a server, an ATT_MTU of 23 applies without it, and its answer, sent once on a link, is recognised
    /// whenever it comes: it then takes effect. Servers that never answer it answer everything else.
    package static let exchangeTimeout = Duration.seconds(5)

    /// The ATT_MTU offered in Exchange MTU, and the largest that is used.
    package let maximumMTU: Int

    /// The current ATT_MTU; initially 23.
    package internal(set) var mtu = ATTLimits.defaultMTU

    /// Whether an earlier program may have agreed on an ATT_MTU that the peer keeps, whatever it answers to this one.
    package let isResumed: Bool

    /// Whether the peer may keep writes that an earlier program has prepared: until it has answered an Execute Write.
    var mayKeepWrites: Bool

    /// The smallest ATT_MTU by which the peer may cut an answer.
    package var leastMTU: Int { isResumed ? ATTLimits.defaultMTU : mtu }

    /// Whether an exchange has taken place, from either side; it is not repeated.
    var isMTUExchanged = false

    /// Whether Exchange MTU was given up, and its answer may still come.
    var isExchangeOverdue = false

    /// The procedures that wait for the slot, the next one first.
    var queue: [Waiting] = []
    var slot: Slot?
    /// The procedure that has the slot. Stored outside the slot, since a value with an existential is copied whole to
    /// read a part.
    var occupant: (any GATTProcedure)?
    var timer: TimerID?

    var commands: [Command] = []
    var confirmations = 0

    /// Whether requests and commands wait, except those on their way. Confirmations don't wait, since the peer gives up
    /// without them.
    package var isHeld = false

    /// The lane whose first PDU ``nextPDU()`` returned, until it is on its way or withdrawn.
    var offered: Lane?

    /// The PDU that is being passed to the radio.
    var onItsWay: Sending?

    /// Why the bearer can't be used any more.
    var closed: DisconnectReason?

    private var lastProcedure: UInt64 = 0
    private var lastTimer: UInt64 = 0

    /// Makes the client half of a new bearer. `maximumMTU`, 23 to 65535 octets, is what Exchange MTU proposes; more
    /// than 517 gains nothing. A bearer that is resumed is one that an earlier program has used.
    package init(maximumMTU: Int, isResumed: Bool = false) {
        self.isResumed = isResumed
        mayKeepWrites = isResumed
        self.maximumMTU = min(max(maximumMTU, ATTLimits.defaultMTU), Int(UInt16.max))
    }

    /// Sets an ATT_MTU that this half did not negotiate: the server half answered the peer's request. It is limited to
    /// 23 to ``maximumMTU``, and this half doesn't request an exchange any more.
    package mutating func setMTU(_ mtu: Int) {
        self.mtu = min(max(mtu, ATTLimits.defaultMTU), maximumMTU)
        isMTUExchanged = true
    }

    /// Whether an Exchange MTU Request is under way: until its answer comes, the device sends no notification and no
    /// indication (Vol 3, Part F, 3.4.2).
    package var isExchangingMTU: Bool {
        slot?.sentMTU != nil && slot?.request.opcode == .exchangeMTURequest
    }

    /// Whether a request has been sent whose answer has not come.
    package var isAwaitingAnswer: Bool { slot?.sentMTU != nil }

    /// Begins a procedure, or puts it at the end of the queue. Its result comes in ``Output/finished``, of this call if
    /// it is known immediately.
    package mutating func begin(_ procedure: any GATTProcedure) -> (ProcedureID, Output) {
        var output = Output()
        let id = begin(procedure, &output)
        return (id, output)
    }

    /// The same, added to an output: a tuple's parts are copied, and an output is large.
    package mutating func begin(_ procedure: any GATTProcedure, _ output: inout Output) -> ProcedureID {
        lastProcedure &+= 1
        let id = ProcedureID(number: lastProcedure)
        if let closed {
            output.finished.append(Finished(id: id, result: .failure(.disconnected(closed))))
        } else if type(of: procedure).isCommand {
            beginCommand(procedure, id, &output)
        } else if slot == nil, queue.isEmpty {
            start(procedure, id, &output)
        } else {
            queue.append(Waiting(id: id, procedure: procedure))
        }
        return id
    }

    /// Ends a procedure with ``GATTFailure/cancelled``, immediately. A request that the radio has taken can't be
    /// recalled: its slot stays taken until it is answered. An id that has ended is ignored.
    package mutating func cancel(_ id: ProcedureID) -> Output {
        var output = Output()
        let cancelled = Finished(id: id, result: .failure(.cancelled))
        if let index = queue.firstIndex(where: { $0.id == id }) {
            queue.remove(at: index)
        } else if let index = commands.firstIndex(where: { $0.id == id }) {
            commands.remove(at: index)
            if index == 0, offered == .command { offered = nil }
        } else if case .command(var command)? = onItsWay, command.id == id, !command.isCancelled {
            command.isCancelled = true
            onItsWay = .command(command)
        } else if slot?.id == id, slot?.stage == .running, slot?.sentMTU != nil {
            slot?.stage = .abandoned
        } else if slot?.id == id, slot?.stage == .running {
            if offered == .request { offered = nil }
            // Before the procedures that end because of it.
            output.finished.append(cancelled)
            undo(&output)
            return output
        } else {
            return output
        }
        output.finished.append(cancelled)
        return output
    }

    /// The time for an answer is over: the request fails, and with it the bearer, as the specification requires; unless
    /// it was Exchange MTU, see ``exchangeTimeout``, or an error came that named another attribute: then that was the
    /// answer.
    package mutating func timerFired(_ id: TimerID) -> Output {
        guard timer == id else { return Output() }
        timer = nil
        var output = Output()
        if slot?.request.opcode == .exchangeMTURequest {
            isExchangeOverdue = true
            let refusal = ATTErrorResponse(request: .exchangeMTURequest, handle: 0, error: .requestNotSupported)
            answered(.success(GATTAnswer(.error(refusal), mtu: mtu)), &output)
            return output
        }
        if let pdu = slot?.doubtful, let sentMTU = slot?.sentMTU {
            answered(answer(.errorResponse, pdu, sentMTU: sentMTU), &output)
            return output
        }
        let reason = DisconnectReason(.transactionTimeout)
        output.close = reason
        close(reason, failingTheRunningWith: .timedOut, &output)
        return output
    }

    /// The link is over: whatever is pending fails with its reason.
    package mutating func ended(_ reason: DisconnectReason) -> Output {
        var output = Output()
        if let timer { output.timer = .stop(timer) }
        timer = nil
        close(reason, failingTheRunningWith: .disconnected(reason), &output)
        return output
    }
}

// MARK: - The slot and its queue

extension GATTClient {
    enum Lane: Hashable, Sendable { case confirmation, command, request }

    struct Waiting: Sendable {
        var id: ProcedureID
        var procedure: any GATTProcedure
    }

    struct Command: Sendable {
        var id: ProcedureID
        var pdu: [UInt8]
        var handles: [UInt16]
        /// Whether the handles may have changed their meaning while it was on its way to the radio.
        var isStale = false
        /// Whether it was cancelled while it was on its way to the radio: its result is not reported.
        var isCancelled = false
    }

    /// A PDU between ``sending()`` and ``sent()`` or ``notSent()``.
    enum Sending: Sendable {
        case confirmation
        case command(Command)
        case request(ProcedureID, isExchange: Bool)
    }

    /// The procedure whose request is open.
    struct Slot: Sendable {
        enum Stage: Hashable, Sendable { case running, abandoned, cleaningUp }

        var id: ProcedureID
        var request: GATTRequest
        var stage = Stage.running
        /// ATT_MTU when the radio took the request; `nil` until then.
        var sentMTU: Int?
        /// Whether the handles may have changed their meaning since the request was sent.
        var isStale = false
        /// An error that may be the answer, and names another attribute.
        var doubtful: [UInt8]?
    }

    var context: GATTContext {
        GATTContext(mtu: mtu, maximumMTU: maximumMTU, isMTUExchanged: isMTUExchanged, mayKeepWrites: mayKeepWrites)
    }

    mutating func makeTimer() -> TimerID {
        lastTimer &+= 1
        return TimerID(number: lastTimer)
    }

    /// Starts waiting procedures until one has something to send.
    mutating func fillSlot(_ output: inout Output) {
        while slot == nil, closed == nil, !queue.isEmpty {
            let next = queue.removeFirst()
            if queue.isEmpty { queue = [] }
            start(next.procedure, next.id, &output)
        }
    }

    private mutating func start(_ procedure: any GATTProcedure, _ id: ProcedureID, _ output: inout Output) {
        let context = context
        // Begun where it stays: each copy of it costs.
        occupant = procedure
        switch occupant?.erasedStart(context) {
        case .request(let request)?:
            slot = Slot(id: id, request: request)
        case .ended(let result)?:
            occupant = nil
            output.finished.append(Finished(id: id, result: result))
        case .command?, nil:
            preconditionFailure("\(type(of: procedure)) sends a command, so it must say isCommand")
        }
    }

    /// Frees the slot of a procedure that ended early, once its effects on the server are undone.
    mutating func undo(_ output: inout Output) {
        guard let ending = slot.take() else { return }
        if ending.stage != .cleaningUp, let request = occupant?.cleanUp(isSent: ending.sentMTU != nil) {
            slot = Slot(id: ending.id, request: request, stage: .cleaningUp)
        } else {
            occupant = nil
            fillSlot(&output)
        }
    }

    private mutating func beginCommand(_ procedure: any GATTProcedure, _ id: ProcedureID, _ output: inout Output) {
        var procedure = procedure
        switch procedure.erasedStart(context) {
        case .command(let pdu): commands.append(Command(id: id, pdu: pdu, handles: procedure.handles))
        case .ended(let result): output.finished.append(Finished(id: id, result: result))
        case .request: preconditionFailure("\(type(of: procedure)) says isCommand and sends a request")
        }
    }

    private mutating func close(
        _ reason: DisconnectReason,
        failingTheRunningWith failure: GATTFailure,
        _ output: inout Output
    ) {
        guard closed == nil else { return }
        closed = reason
        if let slot, slot.stage == .running {
            output.finished.append(Finished(id: slot.id, result: .failure(failure)))
        }
        var others = commands.map(\.id) + queue.map(\.id)
        if case .command(let command)? = onItsWay, !command.isCancelled { others.append(command.id) }
        others.sort()
        for id in others {
            output.finished.append(Finished(id: id, result: .failure(.disconnected(reason))))
        }
        slot = nil
        occupant = nil
        offered = nil
        onItsWay = nil
        queue = []
        commands = []
        confirmations = 0
    }
}
