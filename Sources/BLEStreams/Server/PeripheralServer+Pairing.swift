import BLEProtocol
import BLERadio

extension PeripheralServer {
    /// Loads the keys of the bonds into the adapter, so that a bonded central's link is encrypted without another
    /// pairing. An adapter that was never given a list, not even an empty one, doesn't accept the identity of a central
    /// with a private address.
    func restoreBonds() async throws {
        let outcome: ([Bond], BLEError?) = try await reply(on: radio.timeline) { finish in
            self.served.store.restoreAllBonds(to: self.radio) { finish(.success(($0, $1))) }
        }
        if let error = outcome.1 { bondsNotRestored(outcome.0, error) }
    }

    private func bondsNotRestored(_ bonds: [Bond], _ error: BLEError) {
        let local = radio.adapterInfo.address
        // A server can do without them: another program may have given the adapter its keys.
        guard bonds.contains(where: { local == nil || $0.adapter == local }) else { return }
        warnings.tell(.bondsNotRestored) { _ in error }
    }

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

    private func restoreBondsAgain() {
        let (store, radio) = (served.store, radio)
        unattended(
            { answer in
                RadioActivity(
                    onCancel: store.restoreAllBonds(to: radio) { [weak self] bonds, error in
                        if let error { self?.bondsNotRestored(bonds, error) }
                        answer(error)
                    }
                )
            },
            answer: { (_: BLEError?) in }
        )
    }

    /// How often bonds that can't be read are looked for again.
    private static let readingAgain = Duration.seconds(60)

    /// Gives the adapter the bonds that can't be read at first, once they can be: a shortage of descriptors passes, and
    /// nobody tells of a file that has been mended. Until then their centrals can't encrypt.
    func restoreUnreadBonds() async {
        if isBeacon { return }
        var before = await readBonds()
        while !before.areAll {
            do { try await pause(for: Self.readingAgain, on: radio.timeline) } catch { return }
            let now = await readBonds()
            if now.areAll || now.count > before.count { restoreBondsAgain() }
            before = now
        }
    }

    /// How many bonds can be read, and whether these are all.
    private func readBonds() async -> (count: Int, areAll: Bool) {
        let store = served.store
        return await withCheckedContinuation { continuation in
            store.perform(on: radio.timeline) {
                let (bonds, obstacle) = store.knownBonds()
                continuation.resume(returning: (bonds.count, obstacle == nil))
            }
        }
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
        warnings.tell(.pairingsNotAnswered) { _ in .pairingsNotAnswered(because: error) }
    }

    /// A link reports that it could not be encrypted; if pairings are received, they report more.
    func encryptionFailed(_ central: BluetoothAddress, _ error: BLEError) {
        guard !visits.areReceived else { return }
        warnings.tell(.encryptionFailed(central)) { _ in error }
    }

    private func paired(_ address: BluetoothAddress, _ bond: Bond?) {
        visits.end(address)
        // Its link may end while its file is read.
        let central = central(at: address)
        guard let bond else {
            if let central { tell(.paired(central, nil)) }
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
        warnings.tell(.encryptionFailed(address)) { _ in error }
        if let central { tell(.pairingFailed(central, error)) }
    }

    private func pairingFailed(_ address: BluetoothAddress, _ error: BLEError) {
        visits.end(address)
        warnings.tell(.encryptionFailed(address)) { _ in error }
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
