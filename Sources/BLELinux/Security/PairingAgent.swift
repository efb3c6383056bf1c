internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Makes this program bluetoothd's agent as long as it pairs, or can be paired with, so that bluetoothd can ask it.
///
/// The kernel asks bluetoothd, as it asks us, whenever any device pairs; without an agent bluetoothd refuses, and that
/// counts. It asks the default agent, since the pairing isn't its own. Other programs' agents get their place back when
/// this one ends. Its questions are answered later, when the program has answered: ``answer(_:about:)``.
final class PairingAgent: Sendable {
    /// The outcome of the registration.
    enum Outcome: Hashable, Sendable {
        /// There is no bluetoothd on the bus.
        case notNeeded
        /// This program has yet to register, or has yet to be answered.
        case awaited
        /// bluetoothd asks this program from now on.
        case ready
        /// bluetoothd could not be reached, or refused.
        case failed(BusFailure)
    }

    private struct State {
        var bus: BusConnection?
        var questions: AgentQuestions?
        /// The questions of bluetoothd that await an answer, by the octets of the peers' addresses.
        var waiting: [UInt64: BusMessage] = [:]
        /// How often bluetoothd has withdrawn its questions: one whose device is being looked up is over with that.
        var withdrawals = 0
        var isOver = false
    }

    /// How long the bus and bluetoothd may take for each answer; they are on this machine.
    static let patience = Duration.seconds(5)

    /// The device that it pairs with; `nil`: any device.
    private let peer: BluetoothAddress?
    private let adapter: String
    private let capability: PairingCapability
    private let loop: EventLoop
    private let timeline: any Timeline
    /// Called on the loop's thread with the meaning of a question of bluetoothd.
    private let asked: @Sendable (AgentQuestions.Meaning) -> Void
    private let state = Mutex(State())

    init(
        for peer: BluetoothAddress?,
        on adapter: String,
        as capability: PairingCapability,
        loop: EventLoop,
        timeline: any Timeline,
        asked: @escaping @Sendable (AgentQuestions.Meaning) -> Void
    ) {
        self.peer = peer
        self.adapter = adapter
        self.capability = capability
        self.loop = loop
        self.timeline = timeline
        self.asked = asked
    }

    /// Registers with bluetoothd; the closure is called once, on the loop's thread, unless the agent is ended first.
    func begin(over bus: SystemBus, _ result: @escaping @Sendable (Outcome) -> Void) {
        BusConnection.open(
            bus,
            on: loop,
            timeline: timeline,
            deadline: Self.patience,
            received: { [weak self] message in self?.received(message) },
            ended: { [weak self] in self?.asked(.released) },
            opened: { [self] opened in
                switch opened {
                case .failure(let failure): finish(.failed(failure), result)
                case .success(let bus): greet(bus, result)
                }
            }
        )
    }

    /// Answers a question of bluetoothd, on the loop's thread.
    func answer(_ answer: PairingQuestion.Answer, about peer: BluetoothAddress) {
        self.answer(answer, aboutOctets: peer.rawValue)
    }

    func answer(_ answer: PairingQuestion.Answer, aboutOctets octets: UInt64) {
        let (bus, question) = state.withLock { ($0.bus, $0.waiting.removeValue(forKey: octets)) }
        guard let bus, let question else { return }
        bus.send(AgentQuestions.reply(to: question, answer))
    }

    /// Withdraws the agent: bluetoothd restores earlier agents.
    ///
    /// - Parameter device: the device that bluetoothd must forget first.
    func end(forgetting device: BluetoothAddress? = nil) {
        let (bus, wasKnown) = state.withLock { state in
            defer {
                state.bus = nil
                state.isOver = true
            }
            return (state.bus, state.questions != nil)
        }
        guard let bus else { return }
        loop.enqueue { [adapter, peer] in
            if wasKnown, let device {
                bus.send(Bluetoothd.removal(of: device, from: adapter))
                // It keeps the path under which it came to know the device.
                if let peer, peer.subkind == .resolvablePrivate, peer != device {
                    bus.send(Bluetoothd.removal(of: peer, from: adapter))
                }
            }
            if wasKnown { bus.send(.agentManagerCall("UnregisterAgent", [.objectPath(AgentQuestions.path)])) }
            bus.close()
        }
    }

    /// Asks the bus for bluetoothd's unique name: if its name has no owner, no agent is needed.
    private func greet(_ bus: BusConnection, _ result: @escaping @Sendable (Outcome) -> Void) {
        let isOver = state.withLock { state in
            if !state.isOver { state.bus = bus }
            return state.isOver
        }
        if isOver { return bus.close() }
        bus.call(.busCall("GetNameOwner", [.string(BusMessage.bluetoothd)]), deadline: Self.patience) { [self] answer in
            switch answer {
            case .failure(.refused(BusFailure.noOwner, _)): finish(.notNeeded, result)
            case .failure(let failure): finish(.failed(failure), result)
            case .success(let reply):
                guard reply.signature == "s", case .string(let owner)? = reply.arguments.first else {
                    return finish(.failed(.refused(name: "an answer that makes no sense", text: "")), result)
                }
                state.withLock { $0.questions = AgentQuestions(peer: peer, adapter: adapter, bluetoothd: owner) }
                register(with: bus, result)
            }
        }
    }

    private func register(with bus: BusConnection, _ result: @escaping @Sendable (Outcome) -> Void) {
        // A bluetoothd that leaves with a question open never gets its answer: the kernel must.
        bus.send(.busCall("AddMatch", [.string(BluetoothdWatch.rule)]))
        let path = BusMessage.Argument.objectPath(AgentQuestions.path)
        let register = BusMessage.agentManagerCall("RegisterAgent", [path, .string(capability.agentName)])
        bus.call(register, deadline: Self.patience) { [self] answer in
            if case .failure(let failure) = answer { return finish(.failed(failure), result) }
            bus.call(.agentManagerCall("RequestDefaultAgent", [path]), deadline: Self.patience) { [self] answer in
                if case .failure(let failure) = answer { return finish(.failed(failure), result) }
                finish(.ready, result)
            }
        }
    }

    private func received(_ message: BusMessage) -> BusMessage? {
        guard let questions = state.withLock({ $0.questions }) else { return nil }
        if BluetoothdWatch.tellsOfDeparture(message, of: questions.bluetoothd) {
            // Nor is there anybody to withdraw from.
            state.withLock { ($0.questions, $0.waiting) = (nil, [:]) }
            asked(.released)
            return nil
        }
        guard let path = questions.pathToLookUp(in: message) else { return take(message, questions) }
        lookUp(path, for: message)
        return nil
    }

    /// - Parameter octets: those of the address of the device that a question is about, if they were looked up.
    private func take(_ message: BusMessage, _ questions: AgentQuestions, about octets: UInt64? = nil) -> BusMessage? {
        let (reply, meaning) = questions.answer(to: message, about: octets)
        switch meaning {
        case .asked(let octets, _): state.withLock { $0.waiting[octets] = message }
        case .withdrawn, .released:
            state.withLock { state in
                state.waiting = [:]
                state.withdrawals += 1
            }
        case .refused, .none: break
        }
        if meaning != .none { asked(meaning) }
        return reply
    }

    /// Takes a question once bluetoothd has told which address the device has. One that it doesn't know by now counts
    /// by its path; who says nothing about it gets no answer, as one whose question came too late.
    private func lookUp(_ path: String, for message: BusMessage) {
        let (bus, withdrawals) = state.withLock { ($0.bus, $0.withdrawals) }
        bus?.call(Bluetoothd.addressQuestion(at: path), deadline: Self.patience) { [weak self] answer in
            let octets: UInt64?
            switch answer {
            case .success(let reply): octets = Bluetoothd.address(in: reply)
            case .failure(.refused): octets = nil
            case .failure: return
            }
            self?.lookedUp(octets, for: message, after: withdrawals)
        }
    }

    private func lookedUp(_ octets: UInt64?, for message: BusMessage, after withdrawals: Int) {
        let (bus, questions) = state.withLock { state in
            (state.bus, state.withdrawals == withdrawals ? state.questions : nil)
        }
        guard let bus, let questions, let reply = take(message, questions, about: octets) else { return }
        bus.send(reply)
    }

    private func finish(_ outcome: Outcome, _ result: @Sendable (Outcome) -> Void) {
        guard !state.withLock({ $0.isOver }) else { return }
        if outcome != .ready { end() }
        result(outcome)
    }
}

extension BusMessage {
    /// bluetoothd's name on the bus.
    static let bluetoothd = "org.bluez"

    static func agentManagerCall(_ member: String, _ arguments: [Argument]) -> BusMessage {
        call(member, of: "org.bluez.AgentManager1", at: "/org/bluez", in: bluetoothd, arguments)
    }
}
