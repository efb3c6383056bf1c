import BLEProtocol
import BLERadio

extension PeripheralServer {
    /// How long a bluetoothd that has begun may take to give the adapter its own keys, in place of all others.
    private static let keysOfOthers = Duration.seconds(5)

    /// Pairings are answered, or are answered again after another program has interfered: that is a bluetoothd that has
    /// begun, and the bonds are restored once it has set its own.
    private func pairingsAreReceived() {
        let isRepeated = visits.areReceived
        visits.areReceived = true
        guard isRepeated else { return }
        keep(radio.timeline.schedule(after: Self.keysOfOthers) { [weak self] in self?.restoreBondsAgain() })
    }

    /// Answers the pairings of centrals from now on; a radio that can't pair is served without that.
    func receivePairings() async throws {
        do {
            try await begin { finish in
                self.radio.receivePairings(self.visits.reception) { [weak self] event in
                    switch event {
                    case .started:
                        self?.pairingsAreReceived()
                        finish(.success(()))
                    case .paired(let central, let bond): self?.paired(central, bond)
                    case .failed(let central, let error): self?.pairingFailed(central, error)
                    case .ended(let error):
                        self?.pairingsEnded(error)
                        finish(.failure(error))
                    }
                }
            }
        } catch let error as BLEError where error.code == .notSupported {}
    }

    /// Warns that pairings are no longer answered; if the reception never began, its caller gets the failure instead.
    private func pairingsEnded(_ error: BLEError) {
        visits.endAll()
        guard visits.areReceived else { return }
        visits.areReceived = false
        // If the adapter is lost, the server ends for that reason.
        guard radio.adapterInfo.state == .poweredOn else { return }
        warnings.tell(.pairingsNotAnswered(error.code)) { _ in .pairingsNotAnswered(because: error) }
    }

    /// A link reports that it could not be encrypted; if pairings are received, they report more.
    func encryptionFailed(_ central: BluetoothAddress, _ error: BLEError) {
        guard !visits.areReceived else { return }
        warnings.tell(.encryptionFailed(central, error.pairingFailure)) { _ in error }
    }

    private func paired(_ address: BluetoothAddress, _ bond: Bond?) {
        visits.end(address)
        // Its link may end while its file is read.
        let central = central(at: address)
        guard let bond else {
            guard let central else { return }
            // What it configures is for this link only, though that is encrypted.
            central.isDisowned = true
            tell(.paired(central, nil))
            return
        }
        served.store.perform(on: radio.timeline) { [self] in
            if let objection = served.store.objection(to: bond, "with \(address), which began it") {
                return disown(bond, of: central, at: address, objection)
            }
            served.store.remember(bond)
            guard let central else { return }
            (central.identity, central.hasStoredBond, central.isDisowned) = (bond.peer, true, false)
            // What it configured before is kept from now on, and not every radio tells that the link is encrypted.
            central.keepSoon(self)
            // It may have left before its identity was known here.
            if central.bearer.end != nil { keep(central) }
            tell(.paired(central, bond))
        }
    }

    /// A central has paired in place of a better bond, or of one that can't be read, which the radio can't know of: a
    /// kernel before 6.12 doesn't ask about Just Works, and other programs store bonds, too. It may be an impostor.
    private func disown(_ bond: Bond, of central: ConnectedCentral?, at address: BluetoothAddress, _ error: BLEError) {
        central?.isDisowned = true
        let radio = radio
        // The kernel has the new keys in place of the former ones.
        unattended(
            { radio.unpair(bond.peer, result: $0) },
            answer: { [weak self] _ in self?.restoreBondsAgain() }
        )
        warnings.tell(.encryptionFailed(address, error.pairingFailure)) { _ in error }
        if let central { tell(.pairingFailed(central, error)) }
    }

    private func pairingFailed(_ address: BluetoothAddress, _ error: BLEError) {
        visits.end(address)
        warnings.tell(.encryptionFailed(address, error.pairingFailure)) { _ in error }
        restoreBond(of: address)
        guard let central = central(at: address) else { return }
        tell(.pairingFailed(central, error))
    }

    /// A pairing that fails late takes the adapter's key of a bond with it, and the central has its own still.
    private func restoreBond(of address: BluetoothAddress) {
        let store = served.store
        store.perform(on: radio.timeline) { [weak self] in
            if !store.bonds(with: store.identity(of: address)).isEmpty { self?.restoreBondsAgain() }
        }
    }

    /// The central whose link has this address, or that has sent it as its identity on that link: a reception that
    /// begins anew finds it under that. Of several links the newest one, since the end of a former one may not be known
    /// yet.
    private func central(at address: BluetoothAddress) -> ConnectedCentral? {
        centrals.last { $0.address == address || $0.identity == address }
    }
}
