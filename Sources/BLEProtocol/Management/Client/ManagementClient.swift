/// Matches the answers on a management socket with the commands sent, and passes every event on.
///
/// ```
///             submit                 turn comes                answered
///   (nothing) ──────► waiting ────────────────────► sent ──────────────────► completed(.replied)
///                        │ withdraw                  │ │ withdraw
///                        ▼                           │ └────────► sent, nobody waits ── answered or time over ─► gone
///                     (nothing)             time over│
///                                                    ▼
///                                          completed(.timedOut); a late answer is still taken for this command
/// ```
/// One command at a time is in progress for each controller, as in bluetoothd, so that commands take effect in the
/// order in which they were submitted; see ``ManagementScheduling`` for those that are not answered soon. Answers are
/// matched by opcode and controller, the oldest command first; those that come in any order, by the device that they
/// name.
///
/// A value without I/O: octets and expired timers go in, and ``Output`` says what to do.
package struct ManagementClient: ~Copyable, Sendable {
    private var lanes: [ManagementIndex: Lane] = [:]
    private var sent: [Sent] = []
    /// The commands that have ended with the removal of their controller.
    private var orphans: [Orphan] = []
    private var nextID: UInt64 = 1
    private var isClosed = false

    /// The number of timed-out commands whose late answers are still recognised.
    private static let maximumExpired = 64

    package init() {}

    /// Submits a command; it is returned in `send`, now or later.
    ///
    /// - Parameter timeout: How long its answer may take, counted from when it is sent; `nil`: the command's own limit.
    package mutating func submit<Command: ManagementCommand>(
        _ command: Command,
        index: ManagementIndex,
        timeout: Duration? = nil
    ) -> (id: RequestID, output: Output) {
        let id = RequestID(rawValue: nextID)
        nextID &+= 1
        let request = Request(
            id: id,
            opcode: Command.opcode,
            index: index,
            scheduling: Command.scheduling,
            timeout: timeout ?? Command.timeout,
            device: command.device,
            datagram: command.packet(index: index).encoded
        )
        var output = Output()
        if isClosed {
            output.completed.append(Completion(id: id, outcome: .closed))
        } else if request.scheduling == .immediately {
            send(request, &output)
        } else {
            lanes[index, default: Lane()].waiting.append(request)
            advance(index, &output)
        }
        return (id, output)
    }

    /// Whether a command still waits its turn: it has not been sent.
    package func isWaiting(_ id: RequestID) -> Bool {
        lanes.values.contains { lane in lane.waiting.contains { $0.id == id } }
    }

    /// Withdraws a command: if it has not been sent, it never is; no completion follows.
    package mutating func withdraw(_ id: RequestID) -> Output {
        var output = Output()
        for index in lanes.keys {
            lanes[index]?.waiting.removeAll { $0.id == id }
            advance(index, &output)
        }
        if let place = sent.firstIndex(where: { $0.id == id && $0.state == .awaited }) {
            sent[place].state = .withdrawn
        }
        return output
    }

    /// A datagram was read from the socket.
    package mutating func received(_ datagram: [UInt8]) -> Output {
        var output = Output()
        do throws(ManagementDecodingError) {
            let packet = try ManagementPacket(decoding: datagram)
            if let reply = try ManagementReply(decoding: packet) {
                answered(reply, &output)
            } else {
                let event = try ManagementEvent(decoding: packet)
                output.event = IndexedEvent(index: packet.index, event: event)
                switch event {
                case .indexRemoved, .extendedIndexRemoved: controllerRemoved(packet.index, &output)
                case .newIdentityResolvingKey(let new): identified(new, on: packet.index)
                default: break
                }
            }
        } catch {
            output.malformed = error
        }
        return output
    }

    /// Datagrams were lost: the answers of all commands that have been sent may be among them.
    package mutating func missedDatagrams() {
        for place in sent.indices { sent[place].mayBeLost = true }
    }

    /// The answer of a command is known to be lost, by what the kernel has answered to another one. The command keeps
    /// no place in the order, where the answer of a later one would be taken for its own; no completion follows.
    package mutating func answerIsLost(_ id: RequestID) -> Output {
        var output = Output()
        guard let place = sent.firstIndex(where: { $0.id == id }) else { return output }
        let request = sent.remove(at: place)
        if request.state != .expired { output.timers.append(.cancel(id)) }
        release(request, &output)
        return output
    }

    /// The socket refused a command that was returned in `send`: the kernel has not received it.
    package mutating func sendFailed(_ id: RequestID) -> Output {
        var output = Output()
        guard let place = sent.firstIndex(where: { $0.id == id }) else { return output }
        let request = sent.remove(at: place)
        output.timers.append(.cancel(id))
        if request.state == .awaited { output.completed.append(Completion(id: id, outcome: .notSent)) }
        release(request, &output)
        return output
    }

    /// A timer ran out; one that was cancelled meanwhile is ignored.
    package mutating func timerFired(_ id: RequestID) -> Output {
        var output = Output()
        guard let place = sent.firstIndex(where: { $0.id == id && $0.state != .expired }) else { return output }
        let request = sent[place]
        if request.state == .awaited {
            output.completed.append(Completion(id: id, outcome: .timedOut, mayBeLost: request.mayBeLost))
        }
        if request.elderWasAnswered || request.mayBeLost {
            // No late answer is to be expected, which a later command's would be taken for: it was lost, or was matched
            // with an older command, whose own was lost.
            sent.remove(at: place)
        } else {
            sent[place].state = .expired
            if sent.count(where: { $0.state == .expired }) > Self.maximumExpired,
                let oldest = sent.firstIndex(where: { $0.state == .expired })
            {
                sent.remove(at: oldest)
            }
        }
        release(request, &output)
        return output
    }

    /// The socket is closed: all commands end, and so does every command submitted later.
    package mutating func closed() -> Output {
        var output = Output()
        isClosed = true
        for request in sent where request.state != .expired {
            output.timers.append(.cancel(request.id))
            if request.state == .awaited {
                output.completed.append(Completion(id: request.id, outcome: .closed))
            }
        }
        let waiting = lanes.values.flatMap(\.waiting).sorted { $0.id.rawValue < $1.id.rawValue }
        output.completed += waiting.map { Completion(id: $0.id, outcome: .closed) }
        sent = []
        lanes = [:]
        return output
    }

    /// Whether an answer that belongs to no command is that of one which has ended with the removal of its controller;
    /// once for each: the controller was there again, under the same number, and has carried it out, or refused it.
    package mutating func endedWithRemoval(_ reply: ManagementReply) -> Bool {
        let orphan = Orphan(opcode: reply.opcode, index: reply.index)
        guard let place = orphans.firstIndex(of: orphan) else { return false }
        orphans.remove(at: place)
        return true
    }

    // MARK: -

    private mutating func answered(_ reply: ManagementReply, _ output: inout Output) {
        guard let oldest = sent.firstIndex(where: { $0.opcode == reply.opcode && $0.index == reply.index }) else {
            output.unexpectedReply = reply
            return
        }
        let request = sent.remove(at: place(of: reply, from: oldest))
        if request.mayBeLost {
            // It may be the answer of a younger command of that kind, which then gets none.
            for other in sent.indices where sent[other].opcode == reply.opcode && sent[other].index == reply.index {
                sent[other].mayBeLost = true
            }
        }
        switch request.state {
        case .awaited:
            output.timers.append(.cancel(request.id))
            output.completed.append(Completion(id: request.id, outcome: .replied(reply)))
        case .withdrawn:
            output.timers.append(.cancel(request.id))
        case .expired:
            for other in sent.indices where sent[other].opcode == reply.opcode && sent[other].index == reply.index {
                sent[other].elderWasAnswered = true
            }
        }
        release(request, &output)
    }

    /// The command that an answer belongs to: of those that are answered in any order, the one about the device that it
    /// names. If it names another one, that is the identity of one with a private address: the kernel has known it
    /// before, or the event that told it was lost.
    private func place(of reply: ManagementReply, from oldest: Int) -> Int {
        guard sent[oldest].device != nil else { return oldest }
        var reader = ManagementReader(reply.parameters.octets, subject: .answer(reply.opcode))
        guard let device = try? reader.address() else { return oldest }
        let younger = sent[oldest...]
        let named = younger.firstIndex {
            $0.device == device && $0.opcode == reply.opcode && $0.index == reply.index
        }
        let hidden = younger.firstIndex {
            $0.device?.lowEnergy?.subkind == .resolvablePrivate && $0.opcode == reply.opcode && $0.index == reply.index
        }
        return named ?? hidden ?? oldest
    }

    /// A device has told its identity, by which the kernel names it from now on.
    private mutating func identified(_ new: ManagementNewIdentityResolvingKey, on index: ManagementIndex) {
        let former = ManagementAddress(new.privateAddress)
        for place in sent.indices where sent[place].device == former && sent[place].index == index {
            sent[place].device = new.key.address
        }
    }

    /// The kernel answers nothing for a removed controller. What it was sent before this is read, but when the
    /// controller was there again, it answers.
    private mutating func controllerRemoved(_ index: ManagementIndex, _ output: inout Output) {
        let orphans = sent.filter { $0.index == index }
        sent.removeAll { $0.index == index }
        // Those of an earlier removal stay: their commands may have been sent after this one, too.
        self.orphans += orphans.map { Orphan(opcode: $0.opcode, index: index) }
        for orphan in orphans where orphan.state != .expired {
            output.timers.append(.cancel(orphan.id))
            if orphan.state == .awaited {
                let reply = ManagementReply(opcode: orphan.opcode, index: index, status: .invalidIndex)
                output.completed.append(Completion(id: orphan.id, outcome: .replied(reply)))
            }
        }
        for orphan in orphans { release(orphan, &output) }
    }

    private mutating func release(_ request: Sent, _ output: inout Output) {
        guard lanes[request.index]?.holder == request.id else { return }
        lanes[request.index]?.holder = nil
        advance(request.index, &output)
    }

    /// Sends the commands of one controller that may be sent.
    private mutating func advance(_ index: ManagementIndex, _ output: inout Output) {
        while let lane = lanes[index], lane.holder == nil {
            guard let next = lane.waiting.first else {
                lanes[index] = nil
                return
            }
            lanes[index]?.waiting.removeFirst()
            if next.scheduling == .inTurn { lanes[index]?.holder = next.id }
            send(next, &output)
        }
    }

    private mutating func send(_ request: Request, _ output: inout Output) {
        // An answer is this one's from now on.
        orphans.removeAll { $0 == Orphan(opcode: request.opcode, index: request.index) }
        sent.append(Sent(id: request.id, opcode: request.opcode, index: request.index, device: request.device))
        output.send.append(Transmission(id: request.id, datagram: request.datagram))
        output.timers.append(.start(request.id, request.timeout))
    }
}

extension ManagementClient {
    /// The unsent commands of one controller, and the one whose answer they wait for.
    private struct Lane {
        var holder: RequestID?
        var waiting: [Request] = []
    }

    private struct Request {
        let id: RequestID
        let opcode: ManagementOpcode
        let index: ManagementIndex
        let scheduling: ManagementScheduling
        let timeout: Duration
        let device: ManagementAddress?
        let datagram: [UInt8]
    }

    /// A command whose answer nobody expects.
    private struct Orphan: Equatable {
        let opcode: ManagementOpcode
        let index: ManagementIndex
    }

    /// A command that has been sent and not answered.
    private struct Sent {
        enum State {
            /// The caller waits for the answer.
            case awaited
            /// No caller waits for it; its place in the order is kept until it comes, or its time is over.
            case withdrawn
            /// It has timed out; a late answer must not be taken for that of a later command.
            case expired
        }

        let id: RequestID
        let opcode: ManagementOpcode
        let index: ManagementIndex
        var device: ManagementAddress?
        var state = State.awaited
        var elderWasAnswered = false
        /// Whether datagrams were lost since it was sent, or its answer was taken for that of a command of which they
        /// were.
        var mayBeLost = false
    }
}
