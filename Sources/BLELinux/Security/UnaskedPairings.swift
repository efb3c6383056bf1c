internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Pairings that no program has begun: a peripheral requests one, and the kernel begins it by itself as long as the
/// adapter is bondable, such as for a server of this program.
///
/// The kernel asks every program then, and what none answers ends the link with the Security Manager's limit of 30 s.
/// So it is refused before that, and the link stays. Source: kernel, `net/bluetooth/smp.c`, `smp_cmd_security_req`,
/// `smp_timeout`.
final class UnaskedPairings: Sendable {
    private struct State {
        /// The peers with which this program pairs by itself, and how often: these pairings answer and tell.
        var engaged: [BluetoothAddress: Int] = [:]
        /// The peers of this radio's links: whose link another program has is that program's.
        var linked: [BluetoothAddress: Int] = [:]
        /// The peers of the links that this machine has made.
        var peripherals: Set<BluetoothAddress> = []
        /// The limits of the questions that nobody has answered yet.
        var questions: [BluetoothAddress: RadioActivity] = [:]
        var observation: RadioActivity?
    }

    /// How long another program may take for its answer; the Security Manager's limit began a moment before.
    static let patience = Duration.seconds(25)

    private let management: ManagementSocket?
    private let bus: SystemBus
    private let loop: EventLoop
    private let timeline: any Timeline
    private let state = Mutex(State())

    /// - Parameter bus: the bus on which bluetoothd is reached.
    init(management: ManagementSocket?, bus: SystemBus, loop: EventLoop, timeline: any Timeline) {
        (self.management, self.bus, self.loop, self.timeline) = (management, bus, loop, timeline)
        let observation = management?.observe { [weak self] events in
            for event in events { self?.received(event.event) }
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

    // MARK: - On the loop's thread

    private func received(_ event: ManagementEvent) {
        switch event {
        case .deviceConnected(let connected):
            guard let peer = connected.address.lowEnergy else { return }
            let isPeripheral = connected.flags.contains(.initiatedHere)
            state.withLock { state in
                if isPeripheral { state.peripherals.insert(peer) } else { state.peripherals.remove(peer) }
            }
        case .deviceDisconnected(let address, _):
            ended(address)
            if let peer = address.lowEnergy { state.withLock { _ = $0.peripherals.remove(peer) } }
        case .userConfirmationRequest(let request): asked(request.address)
        case .userPasskeyRequest(let address): asked(address)
        case .authenticationFailed(let address, _): ended(address)
        case .newLongTermKey(let new): ended(new.key.address)
        default: break
        }
    }

    private func asked(_ address: ManagementAddress) {
        guard let peer = address.lowEnergy,
            state.withLock({ $0.linked[peer] != nil && $0.peripherals.contains(peer) && $0.engaged[peer] == nil })
        else { return }
        let limit = timeline.schedule(after: Self.patience) { [weak self, loop] in
            loop.enqueue { [weak self] in self?.refuse(peer) }
        }
        let former = state.withLock { state in
            defer { state.questions[peer] = limit }
            return state.questions[peer]
        }
        former?.cancel()
    }

    /// The pairing with a peer is over, in whatever way.
    private func ended(_ address: ManagementAddress) {
        guard let peer = address.lowEnergy else { return }
        let limit = state.withLock { $0.questions.removeValue(forKey: peer) }
        limit?.cancel()
    }

    /// A refusal of a confirmation ends a pairing whatever its question. Source: kernel, `smp_user_confirm_reply`.
    private func refuse(_ peer: BluetoothAddress) {
        let isUnanswered = state.withLock { state in
            state.questions.removeValue(forKey: peer) != nil && state.engaged[peer] == nil
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

extension [BluetoothAddress: Int] {
    fileprivate mutating func add(_ peer: BluetoothAddress) { self[peer, default: 0] += 1 }

    fileprivate mutating func takeAway(_ peer: BluetoothAddress) {
        let count = self[peer, default: 1] - 1
        self[peer] = count > 0 ? count : nil
    }
}
