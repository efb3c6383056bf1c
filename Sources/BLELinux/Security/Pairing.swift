internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One pairing with a peer that is connected, from the question whether the adapter may to the keys or the error.
///
/// Nobody is asked anything: the adapter says that it can neither show nor read a number, which makes it Just Works.
/// The kernel asks the program all the same whether it agrees, and takes silence for a no. It asks bluetoothd too, where
/// that runs: ``PairingAgent`` and ``PairingConsent`` see to it that the two say yes, once.
final class Pairing: Sendable {
    typealias Outcome = Result<Bond?, BLEError>

    private struct State {
        var observation: RadioActivity?
        /// The peer as the keys name it: its identity, where it told one.
        var identity: BluetoothAddress
        var encryptionKeys: [Bond.EncryptionKey] = []
        var identityKey: SecretKey?
        /// What was switched on for the pairing and was off before.
        var switchedOn: [Switch] = []
        var isUnderWay = false
        var isOver = false
        /// Who answers the kernel's question.
        var consent = PairingConsent()
        var agent: PairingAgent?
        /// What became of the agent.
        var agentOutcome = PairingAgent.Outcome.notNeeded
        /// Answers the kernel where bluetoothd doesn't.
        var patience: RadioActivity?
    }

    /// A setting of the adapter that a pairing needs.
    private enum Switch {
        /// Without it keys are made for this link alone.
        case bondable
        /// Without it everybody who hears the pairing has the key. An adapter that can't do it pairs all the same.
        case secureConnections

        static func missing(in information: ManagementReadInformation.Response) -> [Switch] {
            var missing: [Switch] = []
            if !information.current.contains(.bondable) { missing.append(.bondable) }
            let isPossible = information.supported.contains(.secureConnections)
            if isPossible, !information.current.contains(.secureConnections) { missing.append(.secureConnections) }
            return missing
        }

        func set(
            _ isOn: Bool,
            _ management: ManagementSocket,
            _ answer: @escaping @Sendable (ManagementFailure?) -> Void
        ) {
            switch self {
            case .bondable: management.submit(ManagementSetBondable(isOn)) { answer($0.failure) }
            case .secureConnections:
                management.submit(ManagementSetSecureConnections(isOn ? .on : .off)) { answer($0.failure) }
            }
        }
    }

    private let peer: BluetoothAddress
    private let radio: LinuxRadio
    private let sink: EventSink<Outcome>
    private let state: Mutex<State>
    /// Whether bluetoothd runs, as far as the list of processes tells.
    private let isBluetoothdSeen = Bluetoothd.isRunning

    /// How long bluetoothd may take to ask its agent, once the kernel has asked. The Security Manager waits for 30 s.
    private static let patience = Duration.seconds(3)

    private var object: String { "with \(peer)" }

    init(with peer: BluetoothAddress, on radio: LinuxRadio, sink: EventSink<Outcome>) {
        self.peer = peer
        self.radio = radio
        self.sink = sink
        state = Mutex(State(identity: peer))
    }

    /// Starts, on the loop's thread.
    func begin() {
        do throws(BLEError) {
            _ = try radio.adapter.usable(for: "pair", object: object)
        } catch {
            return finish(.failure(error))
        }
        guard let management = radio.management else {
            return finish(.failure(.missingCapability(.networkAdministration, operation: "pair", object: object)))
        }
        let observation = management.observe { [weak self] events in
            for event in events { self?.received(event.event, management) }
        }
        state.withLock { if !$0.isOver { $0.observation = observation } }
        management.submit(ManagementReadInformation()) { [self] answer in
            switch answer {
            case .failure(let failure): fail(failure)
            case .success(let information): switchOn(Switch.missing(in: information)[...], management)
            }
        }
    }

    /// Ends the pairing; the kernel is told before this returns.
    func cancel() {
        sink.close()
        end(isCancelled: true)
    }

    /// Sets one after the other, then pairs.
    private func switchOn(_ switches: ArraySlice<Switch>, _ management: ManagementSocket) {
        guard !state.withLock({ $0.isOver }) else { return }
        guard let next = switches.first else { return seekConsent(management) }
        next.set(true, management) { [self] failure in
            if let failure, next == .bondable { return fail(failure) }
            let isOver = state.withLock { state in
                if !state.isOver, failure == nil { state.switchedOn.append(next) }
                return state.isOver
            }
            if isOver, failure == nil { next.set(false, management) { _ in } }
            switchOn(switches.dropFirst(), management)
        }
    }

    /// Has bluetoothd ask this program, where it runs; pairs in any case: on some kernels nobody is asked.
    private func seekConsent(_ management: ManagementSocket) {
        guard radio.bus.isThere else {
            let outcome: PairingAgent.Outcome =
                isBluetoothdSeen ? .failed(.unreachable("there is no \(radio.bus.address)")) : .notNeeded
            state.withLock { $0.agentOutcome = outcome }
            return pair(management)
        }
        let agent = PairingAgent(
            for: peer,
            on: radio.adapter.name,
            loop: radio.loop,
            timeline: radio.timeline
        ) { [weak self] meaning in
            self?.bluetoothdAsked(meaning, management)
        }
        let mayBegin = state.withLock { state in
            if !state.isOver { state.agent = agent }
            return !state.isOver
        }
        guard mayBegin else { return }
        agent.begin(over: radio.bus) { [self] outcome in
            state.withLock { state in
                state.agentOutcome = outcome
                if outcome == .ready { state.consent.agentBegan() }
            }
            pair(management)
        }
    }

    private func pair(_ management: ManagementSocket) {
        let mayBegin = state.withLock { state in
            state.isUnderWay = !state.isOver
            return !state.isOver
        }
        guard mayBegin else { return }
        management.submit(ManagementPairDevice(ManagementAddress(peer), capability: .noInputNoOutput)) {
            [self] answer in
            state.withLock { $0.isUnderWay = false }
            switch answer {
            case .success: outlastBluetoothd(.success(bond))
            case .failure(let failure) where failure.status == .alreadyPaired: finish(.success(nil))
            case .failure(let failure): fail(failure)
            }
        }
    }

    /// Has the link stay up until bluetoothd has tried to have a look at the new bond's services, which it can't while
    /// the link is up. Otherwise it would connect by itself, and keep the peer to itself from then on.
    private func outlastBluetoothd(_ outcome: Outcome) {
        guard state.withLock({ $0.agentOutcome == .ready }) || isBluetoothdSeen else { return finish(outcome) }
        let look = radio.timeline.schedule(after: Self.bluetoothdLooks) { [loop = radio.loop] in
            loop.enqueue { self.finish(outcome) }
        }
        let isOver = state.withLock { state in
            if !state.isOver { state.patience = look }
            return state.isOver
        }
        if isOver { look.cancel() }
    }

    /// bluetoothd looks two seconds after the bond was made, by a timer of whole seconds.
    /// Source: BlueZ, `src/device.c`, `DISCOVERY_TIMER`.
    private static let bluetoothdLooks = Duration.milliseconds(3500)

    /// What was learned of the peer's keys; they come before the answer to the command.
    private var bond: Bond? {
        let (identity, keys, identityKey) = state.withLock { ($0.identity, $0.encryptionKeys, $0.identityKey) }
        guard !keys.isEmpty, let adapter = radio.adapter.facts?.address else { return nil }
        radio.keys.note(identity)
        return Bond(peer: identity, adapter: adapter, encryptionKeys: keys, identityKey: identityKey)
    }

    private func received(_ event: ManagementEvent, _ management: ManagementSocket) {
        switch event {
        case .userConfirmationRequest(let request) where request.address.lowEnergy == peer:
            // Numbers can't be compared where none can be shown.
            guard request.value == nil else {
                return management.submit(ManagementUserConfirmationNegativeReply(request.address)) { _ in }
            }
            take(management) { $0.kernelAsked() }
        case .userPasskeyRequest(let address) where address.lowEnergy == peer:
            management.submit(ManagementUserPasskeyNegativeReply(address)) { _ in }
        case .newIdentityResolvingKey(let new):
            guard let identity = new.key.address.lowEnergy, new.privateAddress == peer || identity == peer else {
                return
            }
            state.withLock { state in
                state.identity = identity
                state.identityKey = new.storeHint ? new.key.value : nil
            }
        case .newLongTermKey(let new):
            guard new.storeHint, let address = new.key.address.lowEnergy else { return }
            state.withLock { state in
                guard address == peer || address == state.identity else { return }
                state.encryptionKeys.append(Bond.EncryptionKey(new.key))
            }
        default:
            break
        }
    }

    private func bluetoothdAsked(_ meaning: AgentQuestions.Meaning, _ management: ManagementSocket) {
        switch meaning {
        case .agreed: state.withLock { $0.consent.agentAgreed() }
        case .released: take(management) { $0.agentEnded() }
        case .refused, .none: break
        }
    }

    /// Does what follows from what has happened.
    private func take(_ management: ManagementSocket, _ next: (inout PairingConsent) -> PairingConsent.Step?) {
        switch state.withLock({ $0.isOver ? nil : next(&$0.consent) }) {
        case .agree: management.submit(ManagementUserConfirmationReply(ManagementAddress(peer))) { _ in }
        case .wait:
            let patience = radio.timeline.schedule(after: Self.patience) { [weak self, loop = radio.loop] in
                loop.enqueue { [weak self] in self?.take(management) { $0.patienceEnded() } }
            }
            state.withLock { $0.patience = patience }
        case nil: break
        }
    }

    private func fail(_ failure: ManagementFailure) {
        guard failure.status == .authenticationFailed else {
            return finish(.failure(failure.error(operation: "pair", object: object, adapter: radio.adapter)))
        }
        let (consent, agent) = state.withLock { ($0.consent, $0.agentOutcome) }
        let error = BLEError.pairingRefused(
            by: peer,
            consent: consent,
            agent: agent,
            isBluetoothdSeen: isBluetoothdSeen
        )
        finish(.failure(error))
    }

    private func finish(_ outcome: Outcome) {
        end(isCancelled: false)
        sink.finish(outcome)
    }

    private func end(isCancelled: Bool) {
        let (last, switchedOn, agent) = state.withLock { state in
            defer {
                state.isOver = true
                state.observation = nil
                state.switchedOn = []
                state.agent = nil
                state.patience = nil
            }
            return ((state.observation, state.isUnderWay, state.patience), state.switchedOn, state.agent)
        }
        let (observation, isUnderWay, patience) = last
        observation?.cancel()
        patience?.cancel()
        agent?.end()
        if isCancelled, isUnderWay {
            radio.management?.submit(ManagementCancelPairDevice(ManagementAddress(peer))) { _ in }
        }
        guard let management = radio.management else { return }
        for setting in switchedOn { setting.set(false, management) { _ in } }
    }
}
