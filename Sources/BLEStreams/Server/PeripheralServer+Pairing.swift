import BLEProtocol
import BLERadio

extension PeripheralServer {
    /// Gives the adapter the keys of the bonds, so that a bonded central's link is encrypted without another pairing. An
    /// adapter that was given none, not even an empty list, doesn't take the identity of a central with a private address.
    func restoreBonds() async throws {
        let outcome: ([Bond], BLEError?) = try await reply(on: radio.timeline) { finish in
            self.served.store.restoreAllBonds(to: self.radio) { finish(.success(($0, $1))) }
        }
        guard let error = outcome.1 else { return }
        let local = radio.adapterInfo.address
        // Who serves may do without them: somebody else may have given the adapter its keys.
        guard outcome.0.contains(where: { local == nil || $0.adapter == local }) else { return }
        warnings.tell(.bondsNotRestored) { _ in error }
    }

    /// Answers the pairings of centrals from now on; a radio that can't pair is served without.
    func receivePairings() async throws {
        do {
            try await begin { finish in
                self.radio.receivePairings(self.visits.reception) { [weak self] event in
                    switch event {
                    case .started:
                        self?.visits.areReceived = true
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

    /// Those who wait for the first answer are told by its failure.
    private func pairingsEnded(_ error: BLEError) {
        guard visits.areReceived else { return }
        visits.areReceived = false
        // One that has lost its adapter ends with that.
        guard radio.adapterInfo.state == .poweredOn else { return }
        warnings.tell(.pairingsNotAnswered) { _ in .pairingsNotAnswered(because: error) }
    }

    /// A link could not be encrypted, as the link tells it: where pairings are received those tell more.
    func encryptionFailed(_ central: BluetoothAddress, _ error: BLEError) {
        guard !visits.areReceived else { return }
        warnings.tell(.encryptionFailed(central)) { _ in error }
    }

    private func paired(_ address: BluetoothAddress, _ bond: Bond?) {
        visits.end(address)
        if let bond { served.store.remember(bond) }
        guard let central = centrals.first(where: { $0.address == address }) else { return }
        if let bond { central.identity = bond.peer }
        tell(.paired(central, bond))
    }

    private func pairingFailed(_ address: BluetoothAddress, _ error: BLEError) {
        visits.end(address)
        warnings.tell(.encryptionFailed(address)) { _ in error }
        guard let central = centrals.first(where: { $0.address == address }) else { return }
        tell(.pairingFailed(central, error))
    }
}
