internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One pairing with a peer that is connected, from the question whether the adapter may to the keys or the error.
///
/// Nobody is asked anything: the adapter says that it can neither show nor read a number, which makes it Just Works.
/// The kernel asks the program all the same whether it agrees, and takes silence for a no.
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
        /// Whether the kernel has asked for agreement, and got it from this program.
        var hasAgreed = false
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
    /// Whether somebody else is asked too: every program on the management socket may answer for all.
    private let isBesideBluetoothd = Bluetoothd.isRunning

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
        guard let next = switches.first else { return pair(management) }
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
            case .success: finish(.success(bond))
            case .failure(let failure) where failure.status == .alreadyPaired: finish(.success(nil))
            case .failure(let failure): fail(failure)
            }
        }
    }

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
            if request.value == nil {
                state.withLock { $0.hasAgreed = true }
                management.submit(ManagementUserConfirmationReply(request.address)) { _ in }
            } else {
                management.submit(ManagementUserConfirmationNegativeReply(request.address)) { _ in }
            }
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

    private func fail(_ failure: ManagementFailure) {
        if failure.status == .authenticationFailed {
            let isAnswered = isBesideBluetoothd && state.withLock { $0.hasAgreed }
            return finish(.failure(isAnswered ? .refusedByBluetoothd(peer) : .pairingRefused(by: peer)))
        }
        finish(.failure(failure.error(operation: "pair", object: object, adapter: radio.adapter)))
    }

    private func finish(_ outcome: Outcome) {
        end(isCancelled: false)
        sink.finish(outcome)
    }

    private func end(isCancelled: Bool) {
        let (observation, isUnderWay, switchedOn) = state.withLock { state in
            defer {
                state.isOver = true
                state.observation = nil
                state.switchedOn = []
            }
            return (state.observation, state.isUnderWay, state.switchedOn)
        }
        observation?.cancel()
        if isCancelled, isUnderWay {
            radio.management?.submit(ManagementCancelPairDevice(ManagementAddress(peer))) { _ in }
        }
        guard let management = radio.management else { return }
        for setting in switchedOn { setting.set(false, management) { _ in } }
    }
}

extension BLEError {
    /// The kernel asks every program on the management socket; bluetoothd says no where it has no agent to ask, and the
    /// first no counts.
    static func refusedByBluetoothd(_ peer: BluetoothAddress) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "pair",
            object: "with \(peer)",
            cause:
                "this program agreed and the pairing was refused all the same: bluetoothd, which runs beside it and is "
                + "asked too, says no when it has no agent",
            remedy:
                "Keep \"bluetoothctl -a\" running, which is an agent, and pair again; if that is refused too, put the "
                + "peripheral into its pairing mode."
        )
    }

    static func pairingRefused(by peer: BluetoothAddress) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "pair",
            object: "with \(peer)",
            cause: "the peripheral refused, or wants a passkey, which this library can't give yet",
            remedy: "Put the peripheral into its pairing mode, and check that it pairs without a passkey."
        )
    }
}
