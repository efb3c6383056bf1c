internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One pairing with a peer that is connected, from the question whether the adapter may to the keys or the error.
///
/// What the kernel asks meanwhile a ``PairingDialogue`` puts to the program. An adapter that claims to be able neither to
/// show nor to take a number is asked all the same whether it agrees, and its silence taken for a no.
final class Pairing: Sendable {
    typealias Outcome = Result<Bond?, BLEError>

    private struct State {
        var observation: RadioActivity?
        var keys: GatheredKeys
        /// Whether the adapter's settings are held.
        var holdsSettings = false
        var isUnderWay = false
        var isOver = false
        /// Why the link has ended, which the kernel tells before the pairing's end.
        var linkEnd: ManagementDisconnectReason?
        /// Puts the kernel's questions to the program.
        var dialogue: PairingDialogue?
        /// Waits until bluetoothd has had its look.
        var look: RadioActivity?
    }

    private let peer: BluetoothAddress
    private let radio: LinuxRadio
    private let interview: PairingInterview
    private let sink: EventSink<Outcome>
    private let state: Mutex<State>
    /// Whether bluetoothd runs, as far as the list of processes tells. Files are read for it, so before the loop's thread.
    private let bluetoothd = Bluetoothd.presenceByProcesses

    private var object: String { "with \(peer)" }

    init(
        with peer: BluetoothAddress,
        on radio: LinuxRadio,
        asking interview: PairingInterview,
        sink: EventSink<Outcome>
    ) {
        self.peer = peer
        self.radio = radio
        self.interview = interview
        self.sink = sink
        state = Mutex(State(keys: GatheredKeys(of: peer)))
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
            if let failure { return fail(failure) }
            guard !state.withLock({ $0.isOver }) else { return }
            dialogue.begin { [self] in pair(management) }
        }
        let isHeldInVain = state.withLock { state in
            state.holdsSettings = !state.isOver
            return state.isOver
        }
        if isHeldInVain { radio.pairingSettings?.release() }
    }

    /// Ends the pairing; the kernel is told before this returns, and forgets the keys that were made.
    func cancel() {
        sink.close()
        end(isCancelled: true)
    }

    private func pair(_ management: ManagementSocket) {
        let mayBegin = state.withLock { state in
            state.isUnderWay = !state.isOver
            return !state.isOver
        }
        guard mayBegin else { return }
        guard let data = interview.outOfBand else { return pairDevice(management) }
        // The kernel finds it when the pairing begins, by the address of the link.
        management.submit(ManagementAddRemoteOutOfBandData(ManagementAddress(peer), data: data)) { [self] answer in
            if case .failure(let failure) = answer { return fail(failure) }
            pairDevice(management)
        }
    }

    private func pairDevice(_ management: ManagementSocket) {
        management.submit(ManagementPairDevice(ManagementAddress(peer), capability: .init(interview.capability))) {
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
        guard state.withLock({ $0.dialogue })?.isBesideBluetoothd == true else { return finish(outcome) }
        let look = radio.timeline.schedule(after: Self.bluetoothdLooks) { [loop = radio.loop] in
            loop.enqueue { self.finish(outcome) }
        }
        let isOver = state.withLock { state in
            if !state.isOver { state.look = look }
            return state.isOver
        }
        if isOver { look.cancel() }
    }

    /// bluetoothd looks two seconds after the bond was made, by a timer of whole seconds.
    /// Source: BlueZ, `src/device.c`, `DISCOVERY_TIMER`.
    private static let bluetoothdLooks = Duration.milliseconds(3500)

    /// What was learned of the peer's keys; they come before the answer to the command.
    private var bond: Bond? {
        let keys = state.withLock { $0.keys }
        guard let adapter = radio.adapter.facts?.address, let bond = keys.bond(of: adapter) else { return nil }
        radio.keys.note(bond.peer)
        return bond
    }

    private func received(_ event: ManagementEvent) {
        state.withLock { state in
            if case .deviceDisconnected(let address, let reason) = event {
                if let address = address.lowEnergy, state.keys.isOwn(address) { state.linkEnd = reason }
            } else {
                _ = state.keys.take(event)
            }
        }
    }

    private func fail(_ failure: ManagementFailure) {
        let (dialogue, linkEnd) = state.withLock { ($0.dialogue, $0.linkEnd) }
        // Nobody was asked: it is the data that didn't fit.
        let isWrong = interview.outOfBand != nil && failure.status == .authenticationFailed
        let explained: BLEError? =
            isWrong
            ? .pairingFailed(with: peer, .wrongOutOfBandData)
            : dialogue?.failure(failure.status) ?? linkEnd.map { .pairingBroken(with: peer, $0) }
        finish(.failure(explained ?? failure.error(operation: "pair", object: object, adapter: radio.adapter)))
    }

    private func finish(_ outcome: Outcome) {
        end(isCancelled: false)
        sink.finish(outcome)
    }

    private func end(isCancelled: Bool) {
        let (last, holdsSettings, dialogue, keysOf, isFirst) = state.withLock { state in
            defer {
                state.isOver = true
                state.observation = nil
                state.holdsSettings = false
                state.dialogue = nil
                state.look = nil
            }
            let keysOf = state.isOver || state.keys.isEmpty ? nil : state.keys.identity
            let last = (state.observation, state.isUnderWay, state.look)
            return (last, state.holdsSettings, state.dialogue, keysOf, !state.isOver)
        }
        let (observation, isUnderWay, look) = last
        observation?.cancel()
        look?.cancel()
        dialogue?.end(forgetting: isCancelled ? keysOf : nil)
        if isCancelled, isUnderWay {
            radio.management?.submit(ManagementCancelPairDevice(ManagementAddress(peer))) { _ in }
        }
        if isCancelled, let keysOf { forgetKeys(of: keysOf) }
        if isFirst, interview.outOfBand != nil {
            radio.management?.submit(ManagementAddRemoteOutOfBandData(ManagementAddress(peer), data: nil)) { _ in }
        }
        if holdsSettings { radio.pairingSettings?.release() }
    }

    /// Nobody will keep them: what the adapter had of them would be a bond that no program knows of.
    private func forgetKeys(of identity: BluetoothAddress) {
        radio.keys.remove(identity)
        radio.management?.submit(ManagementUnpairDevice(ManagementAddress(identity), disconnects: false)) { _ in }
    }
}
