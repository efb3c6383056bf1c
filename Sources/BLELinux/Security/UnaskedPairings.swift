internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Pairings that no program has begun: a peripheral requests one, and the kernel begins it by itself as long as the
/// adapter is bondable, such as for a server of this program.
///
/// The kernel asks every program then, and what none answers ends the link with the Security Manager's limit of 30 s.
/// So it is refused before that, and the link stays. Source: kernel, `net/bluetooth/smp.c`, `smp_cmd_security_req`,
/// `smp_timeout`.
///
/// Before Linux 6.12 it doesn't ask about Just Works. The bond that it makes then is told, to be kept: otherwise this
/// machine would lose it at its next start, and the peripheral would not. bluetoothd keeps it by itself.
final class UnaskedPairings: Sendable {
    /// A link of this radio, and what a pairing on it has made so far.
    private struct Watcher {
        var keys: GatheredKeys
        let sink: EventSink<Bond>
        /// Waits for a second key, if there may be one.
        var patience: RadioActivity?
    }

    /// A question of the kernel that nobody has answered yet, and the time after which it is refused.
    private struct Question {
        let event: ManagementEvent
        let limit: RadioActivity
        /// Whether the end of its pairing may be among events that were lost.
        var mayBeOver = false
    }

    private struct State {
        /// The peers with which this program pairs by itself, and how often: these pairings answer and tell.
        var engaged: [BluetoothAddress: Int] = [:]
        /// The peers of this radio's links: whose link another program has is that program's.
        var linked: [BluetoothAddress: Int] = [:]
        /// The peers of the links that this machine has made.
        var peripherals: Set<BluetoothAddress> = []
        /// The peers among these that have told an identity on their links, by that identity: the kernel uses it then.
        var renamed: [BluetoothAddress: BluetoothAddress] = [:]
        /// The questions that nobody has answered yet, by the peers as the kernel names them.
        var questions: [BluetoothAddress: Question] = [:]
        /// Who is told of bonds, by number.
        var watchers: [Int: Watcher] = [:]
        var lastWatcher = 0
        var observation: RadioActivity?

        /// The address of the link with a peer that the kernel names.
        func link(of peer: BluetoothAddress) -> BluetoothAddress { renamed[peer] ?? peer }

        func isEngaged(_ peer: BluetoothAddress) -> Bool { engaged[peer] != nil || engaged[link(of: peer)] != nil }

        /// Whether a peer has a link of this radio, which this machine has made.
        func isOwnPeripheral(_ peer: BluetoothAddress) -> Bool {
            linked[link(of: peer)] != nil && peripherals.contains(link(of: peer))
        }

        /// The link with a peer has ended, or its former one has, though that wasn't told.
        mutating func forget(_ peer: BluetoothAddress) {
            let link = link(of: peer)
            peripherals.remove(link)
            renamed = renamed.filter { $0.value != link }
        }
    }

    /// How long another program may take for its answer; the Security Manager's limit began a moment before.
    static let patience = Duration.seconds(25)

    private let management: ManagementSocket?
    private let bus: SystemBus
    private let loop: EventLoop
    private let timeline: any Timeline
    /// Whether this machine has made a link that the kernel reports.
    private let hasMade: @Sendable (ManagementDeviceConnected) -> Bool
    /// The adapter; `nil` while it is absent.
    private let facts: @Sendable () -> AdapterFacts?
    private let state = Mutex(State())

    /// - Parameter bus: the bus on which bluetoothd is reached.
    init(
        management: ManagementSocket?,
        bus: SystemBus,
        loop: EventLoop,
        timeline: any Timeline,
        hasMade: @escaping @Sendable (ManagementDeviceConnected) -> Bool = { $0.flags.contains(.initiatedHere) },
        facts: @escaping @Sendable () -> AdapterFacts?
    ) {
        (self.management, self.bus, self.loop, self.timeline) = (management, bus, loop, timeline)
        self.hasMade = hasMade
        self.facts = facts
        let observation = management?.observe { [weak self] events in
            for event in events { self?.received(event.event) }
        } lost: { [weak self] _ in
            self?.missedEvents()
        }
        state.withLock { $0.observation = observation }
    }

    /// This program pairs with a peer by itself, until the returned closure is called, once.
    func engage(_ peer: BluetoothAddress) -> @Sendable () -> Void {
        state.withLock { $0.engaged.add(peer) }
        return { [weak self] in self?.state.withLock { $0.engaged.takeAway(peer) } }
    }

    /// Refuses what a peer requests that nobody answers, until the activity is cancelled.
    func attend(_ peer: BluetoothAddress) -> RadioActivity {
        state.withLock { $0.linked.add(peer) }
        return RadioActivity { [weak self] in self?.state.withLock { $0.linked.takeAway(peer) } }
    }

    /// Tells the bonds that the kernel makes with the peer of a link by itself, until the activity is cancelled.
    func watchBonds(of peer: BluetoothAddress, _ made: @escaping @Sendable (Bond) -> Void) -> RadioActivity {
        let sink = EventSink(made)
        let number = state.withLock { state in
            state.lastWatcher += 1
            state.watchers[state.lastWatcher] = Watcher(keys: GatheredKeys(of: peer), sink: sink)
            return state.lastWatcher
        }
        return RadioActivity { [weak self] in
            sink.close()
            let watcher = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
            watcher?.patience?.cancel()
        }
    }

    // MARK: - Questions, on the loop's thread

    /// Takes out the question that the kernel has asked about a peer and nobody has answered, with the peer as the
    /// kernel names it: it is not asked again, and no longer refused here. Its pairing may be over, where that was
    /// lost.
    func takeQuestion(
        of peer: BluetoothAddress
    ) -> (peer: BluetoothAddress, event: ManagementEvent, mayBeOver: Bool)? {
        let taken = state.withLock { state -> (BluetoothAddress, Question)? in
            let link = state.link(of: peer)
            guard let name = state.questions.keys.first(where: { state.link(of: $0) == link }) else { return nil }
            return state.questions.removeValue(forKey: name).map { (name, $0) }
        }
        guard let (name, question) = taken else { return nil }
        question.limit.cancel()
        return (name, question.event, question.mayBeOver)
    }

    private func received(_ event: ManagementEvent) {
        switch event {
        case .deviceConnected(let connected):
            guard let peer = connected.address.lowEnergy else { return }
            let isPeripheral = hasMade(connected)
            state.withLock { state in
                state.forget(peer)
                if isPeripheral { state.peripherals.insert(peer) }
            }
        case .deviceDisconnected(let address, _):
            ended(address)
            guard let peer = address.lowEnergy else { return }
            let numbers = state.withLock { state in
                state.forget(peer)
                return state.watchers.filter { $0.value.keys.isOwn(peer) }.map(\.key)
            }
            // The second key will not come any more.
            for number in numbers { tell(number) }
        // The links have ended with the adapter, and nothing tells that of each.
        case .indexRemoved, .extendedIndexRemoved: endedAll()
        case .newSettings(let settings) where !settings.contains(.powered): endedAll()
        case .userConfirmationRequest(let request): asked(request.address, event)
        case .userPasskeyRequest(let address): asked(address, event)
        // It needs no answer, but somebody who shows it.
        case .passkeyNotify(let notice): asked(notice.address, event)
        case .authenticationFailed(let address, _): ended(address)
        case .newIdentityResolvingKey(let new):
            if let identity = new.key.address.lowEnergy { rename(new.privateAddress, to: identity) }
            gather(event)
        case .newLongTermKey(let new):
            ended(new.key.address)
            gather(event)
        default: break
        }
    }

    private func asked(_ address: ManagementAddress, _ event: ManagementEvent) {
        guard let peer = address.lowEnergy, state.withLock({ $0.isOwnPeripheral(peer) && !$0.isEngaged(peer) })
        else { return }
        let limit = timeline.schedule(after: Self.patience) { [weak self, loop] in
            loop.enqueue { [weak self] in self?.refuse(peer) }
        }
        let former = state.withLock { state in
            defer { state.questions[peer] = Question(event: event, limit: limit) }
            return state.questions[peer]
        }
        former?.limit.cancel()
    }

    /// The kernel uses the peer's identity from now on.
    private func rename(_ peer: BluetoothAddress, to identity: BluetoothAddress) {
        guard peer != identity else { return }
        state.withLock { if $0.peripherals.contains(peer) { $0.renamed[identity] = peer } }
    }

    /// The pairing with a peer is over, in whatever way.
    private func ended(_ address: ManagementAddress) {
        guard let peer = address.lowEnergy else { return }
        let question = state.withLock { $0.questions.removeValue(forKey: peer) }
        question?.limit.cancel()
    }

    private func endedAll() {
        let questions = state.withLock { state in
            (state.peripherals, state.renamed) = ([], [:])
            defer { state.questions = [:] }
            return Array(state.questions.values)
        }
        for question in questions { question.limit.cancel() }
    }

    /// The ends of links may be among events that were lost: only this radio's links are known to be up.
    func missedEvents() {
        state.withLock { state in
            let linked = state.linked
            state.peripherals = state.peripherals.filter { linked[$0] != nil }
            state.renamed = state.renamed.filter { linked[$0.value] != nil }
            for peer in Array(state.questions.keys) { state.questions[peer]?.mayBeOver = true }
        }
    }

    /// A refusal of a confirmation ends a pairing whatever its question. Source: kernel, `smp_user_confirm_reply`.
    private func refuse(_ peer: BluetoothAddress) {
        let isUnanswered = state.withLock { state in
            state.questions.removeValue(forKey: peer) != nil && !state.isEngaged(peer)
        }
        guard isUnanswered else { return }
        whenAlone { [management] in
            management?.submit(ManagementUserConfirmationNegativeReply(ManagementAddress(peer))) { _ in }
        }
    }

    /// Goes on unless bluetoothd is there, which has agents of its own to ask.
    private func whenAlone(_ proceed: @escaping @Sendable () -> Void) {
        guard bus.isThere else { return proceed() }
        Bluetoothd.findOnBus(bus, loop: loop, timeline: timeline) { if $0 != .here { proceed() } }
    }
}

// MARK: - Bonds, on the loop's thread

extension UnaskedPairings {
    private func gather(_ event: ManagementEvent) {
        let (whole, first): ([Int], [Int]) = state.withLock { state in
            var (whole, first): ([Int], [Int]) = ([], [])
            for (number, var watcher) in state.watchers {
                if watcher.keys.take(event) {
                    let keys = watcher.keys
                    if keys.isEmpty || state.engaged.keys.contains(where: keys.isOwn) {
                        // For this link only, or told by the pairing that has asked for it.
                        watcher.keys.startAgain()
                    } else if keys.isWhole {
                        whole.append(number)
                    } else {
                        first.append(number)
                    }
                }
                state.watchers[number] = watcher
            }
            return (whole, first)
        }
        for number in whole { tell(number) }
        for number in first { waitForSecondKey(number) }
    }

    private func waitForSecondKey(_ number: Int) {
        let patience = timeline.schedule(after: PairingReceiver.patience) { [weak self, loop] in
            loop.enqueue { [weak self] in self?.tell(number) }
        }
        state.withLock { $0.watchers[number]?.patience = patience }
    }

    private func tell(_ number: Int) {
        let adapter = facts()?.address
        let (sink, bond, patience) = state.withLock { state -> (EventSink<Bond>?, Bond?, RadioActivity?) in
            guard var watcher = state.watchers[number] else { return (nil, nil, nil) }
            let (keys, patience) = (watcher.keys, watcher.patience)
            watcher.keys.startAgain()
            watcher.patience = nil
            state.watchers[number] = watcher
            return (watcher.sink, adapter.flatMap { keys.bond(of: $0) }, patience)
        }
        patience?.cancel()
        guard let sink, let bond else { return }
        whenAlone { sink.send(bond) }
    }
}

extension [BluetoothAddress: Int] {
    mutating func add(_ peer: BluetoothAddress) { self[peer, default: 0] += 1 }

    mutating func takeAway(_ peer: BluetoothAddress) {
        let count = self[peer, default: 1] - 1
        self[peer] = count > 0 ? count : nil
    }
}
