internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// A pairing for better keys with a peer that is connected and encrypted already.
///
/// The command that pairs refuses where there are keys (Already Paired), and forgetting them first would leave nothing where the
/// pairing fails. So the level is demanded of the connection, which has the kernel pair; its old keys stay until there are new
/// ones. It claims of this device what the adapter was set to when the link was made: ``LinuxRadio/expectPairing(with:as:)``.
/// Source: kernel, `net/bluetooth/smp.c`, `smp_conn_security`.
final class PairingAnew: Sendable {
    typealias Outcome = Result<Bond?, BLEError>

    private struct State {
        var observation: RadioActivity?
        var keys: GatheredKeys
        /// Whether the adapter's settings are held.
        var holdsSettings = false
        var isUnderWay = false
        var isOver = false
        var dialogue: PairingDialogue?
        /// Waits for a second key, where there may be one.
        var patience: RadioActivity?
    }

    private let peer: BluetoothAddress
    private let level: SecurityLevel
    private let radio: LinuxRadio
    private let interview: PairingInterview
    private let sink: EventSink<Outcome>
    private let state: Mutex<State>
    /// Whether bluetoothd runs, as far as the list of processes tells. Files are read for it, so before the loop's thread.
    private let bluetoothd = Bluetoothd.presenceByProcesses

    private var object: String { "with \(peer)" }

    /// How long after its first key a legacy pairing may take to make the second one.
    private static let secondKey = Duration.seconds(1)

    init(
        with peer: BluetoothAddress,
        to level: SecurityLevel,
        on radio: LinuxRadio,
        asking interview: PairingInterview,
        sink: EventSink<Outcome>
    ) {
        self.peer = peer
        self.level = level
        self.radio = radio
        self.interview = interview
        self.sink = sink
        state = Mutex(State(keys: GatheredKeys(of: peer)))
    }

    /// Starts, on the loop's thread.
    func begin() {
        guard let management = radio.management else {
            return finish(.failure(.missingCapability(.networkAdministration, operation: "pair", object: object)))
        }
        let dialogue = PairingDialogue(
            with: peer,
            on: radio.adapter.name,
            asking: interview,
            management: management,
            bus: radio.bus,
            bluetoothd: bluetoothd,
            loop: radio.loop,
            timeline: radio.timeline
        )
        let observation = management.observe { [weak self] events in
            for event in events {
                dialogue.received(event.event)
                self?.received(event.event)
            }
        }
        let isOver = state.withLock { state in
            if !state.isOver { (state.observation, state.dialogue) = (observation, dialogue) }
            return state.isOver
        }
        if isOver { return observation.cancel() }
        radio.pairingSettings?.hold { [self] failure in
            if let failure { return finish(.failure(error(failure))) }
            guard !state.withLock({ $0.isOver }) else { return }
            dialogue.begin { [self] in demand() }
        }
        let isHeldInVain = state.withLock { state in
            state.holdsSettings = !state.isOver
            return state.isOver
        }
        if isHeldInVain { radio.pairingSettings?.release() }
    }

    /// Ends the pairing, unless there are keys already: their result still comes. Where nobody is asked anything that could be
    /// refused, the kernel ends a pairing only with the link.
    func cancel() {
        let (isUnderWay, hasKeys, dialogue) = state.withLock { ($0.isUnderWay, !$0.keys.isEmpty, $0.dialogue) }
        if hasKeys { return finishWithKeys() }
        sink.close()
        if isUnderWay, dialogue?.refuse() == false {
            radio.management?.submit(ManagementDisconnect(ManagementAddress(peer))) { _ in }
        }
        end()
    }

    private func demand() {
        let mayBegin = state.withLock { state in
            state.isUnderWay = !state.isOver
            return !state.isOver
        }
        guard mayBegin else { return }
        do {
            let facts = try radio.adapter.linkable(for: "pair", object: object)
            let adapter = facts.hasNoPublicAddress ? L2CAPAddress(anyAdapter: .public) : L2CAPAddress(facts.address)
            try FileDescriptor.l2capSocket()
                .demandSecurity(level.kernelLevel, of: L2CAPAddress(peer), from: adapter)
        } catch let error as BLEError {
            finish(.failure(error))
        } catch let error as SystemError {
            finish(.failure(.system(error, call: "connect", operation: "pair", object: object)))
        } catch {}
    }

    private func received(_ event: ManagementEvent) {
        let isOwn: (ManagementAddress) -> Bool = { [self] address in
            address.lowEnergy.map { peer in state.withLock { $0.keys.isOwn(peer) } } ?? false
        }
        switch event {
        case .authenticationFailed(let address, let status) where isOwn(address): failed(status)
        case .deviceDisconnected(let address, _) where isOwn(address): failed(.disconnected)
        default:
            let (isNew, isWhole) = state.withLock { ($0.keys.take(event), $0.keys.isWhole || $0.keys.isEmpty) }
            guard isNew else { return }
            if isWhole { finishWithKeys() } else { waitForSecondKey() }
        }
    }

    private func waitForSecondKey() {
        let patience = radio.timeline.schedule(after: Self.secondKey) { [loop = radio.loop] in
            loop.enqueue { self.finishWithKeys() }
        }
        let isOver = state.withLock { state in
            if !state.isOver { state.patience = patience }
            return state.isOver
        }
        if isOver { patience.cancel() }
    }

    private func finishWithKeys() {
        let keys = state.withLock { $0.keys }
        let bond = radio.adapter.facts.flatMap { keys.bond(of: $0.address) }
        if let bond { radio.keys.note(bond.peer) }
        finish(.success(bond))
    }

    private func failed(_ status: ManagementStatus) {
        guard state.withLock({ $0.isUnderWay }) else { return }
        let explained = state.withLock { $0.dialogue }?.failure(status)
        // The kernel may have written the new keys over the old ones before it failed.
        radio.keys.remove(peer)
        finish(.failure(explained ?? error(.status(status, ManagementPairDevice.opcode))))
    }

    private func error(_ failure: ManagementFailure) -> BLEError {
        failure.error(operation: "pair", object: object, adapter: radio.adapter)
    }

    private func finish(_ outcome: Outcome) {
        end()
        sink.finish(outcome)
    }

    private func end() {
        let (observation, dialogue, patience, holdsSettings) = state.withLock { state in
            defer {
                state.isOver = true
                state.observation = nil
                state.dialogue = nil
                state.patience = nil
                state.holdsSettings = false
            }
            return (state.observation, state.dialogue, state.patience, state.holdsSettings)
        }
        observation?.cancel()
        patience?.cancel()
        dialogue?.end()
        if holdsSettings { radio.pairingSettings?.release() }
    }
}
