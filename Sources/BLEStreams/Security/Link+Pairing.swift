import BLEProtocol
public import BLERadio

extension Link {
    /// Pairs with the peripheral if needed, so that the link is encrypted when it returns.
    ///
    /// Without answers it uses Just Works, which protects against eavesdroppers but not against a man in the middle of
    /// the pairing. With answers, a person or a known passkey authenticates the pairing;
    /// ``LinkSecurity/isAuthenticated`` says whether the peripheral supported that. The keys are stored in the
    /// central's ``PeerStore``; later links to this peripheral are encrypted with them before
    /// ``Peripheral/withLink(timeout:parameters:pairing:_:)`` hands them out. If the link is already encrypted, nothing
    /// is done: ``secure(to:answers:timeout:)`` makes it authenticated.
    ///
    /// When it returns, the bond is on disk. If it can't be written, for example because the disk is full, the error
    /// states the file, the cause and the remedy, and its ``BLEError/pairingFailure`` is
    /// ``PairingFailure/bondNotKept``. The link stays up and encrypted, and another call tries to write the bond again.
    /// A link that is raised automatically, on demand, continues without a stored bond: then the store's warning
    /// reports it.
    ///
    /// In two cases there is no bond to write, ``Peripheral/bond`` is `nil`, and the link is encrypted all the same:
    /// the peripheral pairs without bonding, and later links have to be paired anew; or the adapter has keys from
    /// another program, such as bluetoothd, and it depends on that program how long they last.
    ///
    /// Pairing requires the capability `CAP_NET_ADMIN`. Cancellation ends it. Source: Core Specification, Vol 3, Part
    /// H, 2.
    ///
    /// - Parameters:
    ///   - answers: the answers to the pairing's questions; none by default.
    ///   - timeout: how long it may take; the Security Manager gives each step 30 s.
    /// - Throws: ``BLEError/Code/securityFailed``, with its ``BLEError/pairingFailure``, if either side refuses or a
    ///   passkey is wrong; without one if the keys don't match, or if the system's events about the pairing were lost,
    ///   which is not final (``BLEError/isFinal``): pair again; the store's error if a file that may have a bond with
    ///   the peripheral can't be read: nothing is paired then, or the new keys are removed again; the store's error
    ///   with ``PairingFailure/bondNotKept`` if the bond could not be written; ``BLEError/Code/permissionDenied``,
    ///   ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``, ``BLEError/Code/notSupported`` if the radio can't
    ///   pair, `CancellationError`.
    public func pair(answers: PairingAnswers = PairingAnswers(), timeout: Duration = .seconds(60)) async throws {
        try await raise(to: .encrypted, answers: answers, timeout: timeout, operation: "pair")
        try await expectKeptBond()
    }

    /// Throws if the bond with the peripheral could not be written to disk, after one more attempt.
    private func expectKeptBond() async throws {
        let core = peripheral.core
        let identity = await core.findIdentity(of: peripheral.address)
        guard core.store.bondFailure(of: identity) != nil else { return }
        await core.store.flush(on: timeline)
        if let failure = core.store.bondFailure(of: identity) { throw BLEError.bondNotKept(failure, of: peripheral) }
    }

    /// Encrypts the link if there is a bond with the peripheral; calls back exactly once, immediately or later.
    ///
    /// A link may be waited for for days, and its bond may have been removed meanwhile. A radio that is then asked to
    /// encrypt may pair by itself.
    ///
    /// - Parameter keysNotRestored: why the keys could not be loaded into the adapter, if they could not.
    func protect(
        keysNotRestored: BLEError?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        guard
            let local = bearer.radioLink.local,
            keptBonds.contains(where: { $0.adapter == local })
        else { return result(.success(())) }
        let (store, address) = (peripheral.core.store, peripheral.address)
        store.perform(on: timeline) { [self] in
            let identity = store.identity(of: address)
            let isKept = store.bonds(with: identity).contains { $0.adapter == local }
            // What can't be read now may still have it.
            guard !isKept, store.obstacle(to: identity) == nil else {
                return encrypt(keysNotRestored: keysNotRestored, result)
            }
            raiser.bondIsGone()
            result(.success(()))
        }
    }

    private func encrypt(
        keysNotRestored: BLEError?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        let object = "to \(peripheral)"
        let failure: @Sendable (BLEError?) -> BLEError = { error in
            .notEncrypted(error, keysNotRestored: keysNotRestored, operation: "connect", object: object)
        }
        let answer = Ending<Result<Void, BLEError>>()
        let timer = timeline.schedule(after: SecurityRaise.encryptionTime) { answer.end(.failure(failure(nil))) }
        answer.whenEnded { outcome in
            timer.cancel()
            result(outcome)
        }
        bearer.radioLink.encrypt { outcome in answer.end(outcome.mapError { failure($0) }) }
    }
}

extension CentralCore {
    /// The bonds with a peer, of all adapters. Reads a file: not for the radio's thread.
    func bonds(with peer: BluetoothAddress) -> [Bond] { store.bonds(with: peer) }

    /// The identity behind a private address, if a bond reveals it; otherwise the address itself. Reads files.
    func identity(of address: BluetoothAddress) -> BluetoothAddress { store.identity(of: address) }

    /// The same, read on a queue that may read files.
    func findIdentity(of address: BluetoothAddress) async -> BluetoothAddress {
        guard address.subkind == .resolvablePrivate else { return address }
        return await withCheckedContinuation { continuation in
            store.perform(on: timeline) { continuation.resume(returning: self.identity(of: address)) }
        }
    }

    /// Whether there is a bond with a peer, read on a queue that may read files.
    fileprivate func keepsBond(with peer: BluetoothAddress) async -> Bool {
        await withCheckedContinuation { continuation in
            store.perform(on: timeline) { continuation.resume(returning: !self.bonds(with: peer).isEmpty) }
        }
    }

    /// Why it can't be known whether there is a bond with one of these peers; `nil` if it can. Read on a queue that may
    /// read files.
    fileprivate func firstObstacle(to peers: [BluetoothAddress]) async -> BLEError? {
        await withCheckedContinuation { continuation in
            store.perform(on: timeline) {
                var obstacle: BLEError?
                for peer in peers where obstacle == nil { obstacle = self.store.obstacle(to: peer) }
                continuation.resume(returning: obstacle)
            }
        }
    }

    func remember(_ bond: Bond) {
        if mayReveal(bond) {
            identities.add(bond)
            states.revealed(bond.peer)
        }
        store.remember(bond)
    }

    /// Stores a bond that a peripheral has had the radio make, without a call of the program's. One that may not take
    /// the place of a former bond is removed instead, and the program warned.
    func keep(_ bond: Bond, of peripheral: Peripheral) {
        store.perform(on: timeline) { [self] in
            guard let objection = store.objection(to: bond, "with \(peripheral), which requested it") else {
                return remember(bond)
            }
            store.warn(objection)
            disown(bond) {}
        }
    }

    /// Removes a new bond from the adapter, which has its keys in place of those of the former bond, and gets these
    /// again at once: the peer may come as a central before this side makes another link.
    ///
    /// - Parameter removed: called once the new keys are removed, or could not be.
    func disown(_ bond: Bond, _ removed: @escaping @Sendable () -> Void) {
        unattended(
            { self.radio.unpair(bond.peer, result: $0) },
            answer: { [self] _ in
                unattended(
                    { RadioActivity(onCancel: restoreAllBonds($0)) },
                    answer: { (_: BLEError?) in }
                )
                removed()
            }
        )
    }

    /// Loads the keys of all bonds into the radio; calls back later, with the error if there was one, unless it is
    /// undone before.
    ///
    /// - Returns: the closure that undoes it.
    func restoreAllBonds(_ result: @escaping @Sendable (BLEError?) -> Void) -> @Sendable () -> Void {
        store.restoreAllBonds(to: radio) { result($1) }
    }
}

extension Peripheral {
    /// The bond between it and this central's adapter, made by this library; `nil` if there is none.
    ///
    /// For joined adapters, it is the bond of the adapter that has the link or had the last one, otherwise of the first
    /// adapter that has a bond. A file that can't be read counts as one without a bond, and the store warns of it:
    /// ``Central/bonds`` throws then.
    ///
    /// The bond of a peripheral that paired under a private address is stored under its identity, the bond's
    /// ``Bond/peer``; it is found by any of the peripheral's private addresses. Reads files, so don't use it on
    /// ``Central/executor``.
    public var bond: Bond? {
        let identities = identities
        let bonds = identities.flatMap { core.bonds(with: $0) }
        if let joined = core.joined { return joined.bond(among: bonds, with: identities + [address] + alternatives) }
        let local = core.radio.adapterInfo.address
        return bonds.first { local == nil || $0.adapter == local }
    }

    /// Whether there is a bond with it, made by this library with any adapter of this machine; also `false` if its file
    /// can't be read, see ``bond``. Reads a file, so don't use it on ``Central/executor``.
    public var isBonded: Bool { identities.contains { !core.bonds(with: $0).isEmpty } }

    /// The addresses under which it may be stored: its own, or the identity behind a private one.
    private var identities: [BluetoothAddress] { ([address] + alternatives).map { core.identity(of: $0) } }

    /// Removes this machine's bonds with the peripheral (stored under its identity if its address is private), removes
    /// its key from the adapter, and, if there was one, drops a link to it: whoever connects next gets a new link. The
    /// old one is down when this returns, unless that takes more than five seconds, as it may with a peripheral that is
    /// out of range. The peripheral keeps its own keys until they are removed there.
    ///
    /// - Parameter timeout: how long the adapter may take to answer.
    /// - Throws: ``BLEError/Code/notFound`` if there is no bond; the store's error if the bond behind a private address
    ///   may be in a file that can't be read; also if the adapter's key is removed, but the file that may have the bond
    ///   could not be changed, for example because the disk is full: another call tries again, and otherwise the next
    ///   program loads the key again. ``BLEError/Code/timedOut``, also if all this is removed, but bluetoothd gives no
    ///   answer, and may keep its own bond; ``BLEError/Code/permissionDenied``, also if the system bus keeps the
    ///   program from asking it. An error of the adapter; `CancellationError`.
    public func unpair(timeout: Duration = .seconds(10)) async throws {
        var hadBond = false
        var keptElsewhere: BLEError?
        let object = "from \(self)"
        var identities: [BluetoothAddress] = []
        for address in [address] + alternatives { identities.append(await core.findIdentity(of: address)) }
        let link = core.connector.link(to: self, orSettling: true)
        for address in identities {
            let hadKey: Bool
            do {
                hadKey = try await removeKey(of: address, within: timeout)
            } catch let error as BLEError where error.hasRemovedKey {
                // What this program keeps would be given to the adapter again.
                hadKey = true
                keptElsewhere = error
            }
            // The radio drops it too, but until it is down, which may take long, whoever connects would share it.
            if hadKey { link?.bearer.close(DisconnectReason(.closedLocally)) }
            // A file that can't be read may have it, and one that an earlier call could not change.
            let isKept = await core.keepsBond(with: address) || core.store.bondFailure(of: address) != nil
            hadBond = hadBond || hadKey || isKept
            core.store.forgetBonds(with: address)
            // A scan that is under way, and a session that connects next, would go by an identity under which nothing
            // is heard any more.
            core.identities.remove(address)
        }
        await core.store.flush(on: core.timeline)
        // Whoever was just reading the bonds may have brought it back.
        await withCheckedContinuation { continuation in core.renewIdentities { continuation.resume() } }
        if let link, link.isEnding { await link.untilDown() }
        guard hadBond else {
            // A private address doesn't tell which file it is, if its identity is in one that can't be read.
            if let obstacle = await core.firstObstacle(to: identities) {
                throw BLEError.unread("it can't be known whether there is a bond", obstacle, "unpair", object)
            }
            throw BLEError.noBond(object: object)
        }
        for address in identities {
            if let failure = core.store.bondFailure(of: address) { throw BLEError.bondNotRemoved(failure, object) }
        }
        if let keptElsewhere { throw keptElsewhere }
    }

    /// Removes the adapter's key of one address; whether it had one.
    private func removeKey(of address: BluetoothAddress, within timeout: Duration) async throws -> Bool {
        let (radio, object) = (core.radio, "from \(self)")
        let limit: @Sendable () -> any Error = {
            BLEError.adapterTimedOut("unpair", object: object, after: timeout)
        }
        return try await reply(on: core.timeline, limit: (timeout, limit)) { finish in
            let activity = radio.unpair(address) { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
    }
}

extension Bond {
    /// How a new bond with the same peer would protect less than this one, in words; `nil` if it is as good.
    func loss(by new: Bond) -> String? {
        if isAuthenticated, !new.isAuthenticated { return "not authenticated by a passkey or a comparison of numbers" }
        if isSecureConnections, !new.isSecureConnections { return "no LE Secure Connections" }
        return new.keySize < keySize ? "a key of \(new.keySize) octets, not \(keySize)" : nil
    }
}

extension BLEError {
    /// The same, attributed to the program's operation.
    func about(_ operation: String, _ object: String) -> BLEError {
        var error = self
        (error.operation, error.object) = (operation, object)
        return error
    }

    /// A new bond that is weaker than the existing one: to accept it, the user removes the old one.
    static func weakensBond(_ object: String, _ what: String) -> BLEError {
        var error = BLEError(
            .securityFailed,
            operation: "pair",
            object: object,
            cause: "the new keys are weaker than those of the existing bond: \(what); the new bond was not kept",
            remedy:
                "Check that it is the same device. Then remove the old bond with Peripheral.unpair() and pair again."
        )
        error.pairingFailure = .wouldWeakenBond
        return error
    }

    /// The pairing succeeded, but its bond exists only in this program's memory.
    fileprivate static func bondNotKept(_ failure: BLEError, of peripheral: Peripheral) -> BLEError {
        var error = failure.about("pair", "with \(peripheral)")
        error.cause =
            "the devices have paired, and the link is encrypted, but the bond could not be written to "
            + "\(failure.object): \(failure.cause)"
        error.remedy +=
            " Then call Link.pair() again while this program runs; after that, remove the remaining keys with "
            + "Peripheral.unpair(), and pair again."
        error.pairingFailure = .bondNotKept
        return error
    }

    /// The adapter no longer has the key, but a later program that reads the file will give it the key again.
    fileprivate static func bondNotRemoved(_ failure: BLEError, _ object: String) -> BLEError {
        var error = failure.about("unpair", object)
        error.cause =
            "the adapter's key is removed, but \(failure.object), which may have the bond, could not be changed: "
            + "\(failure.cause)"
        error.remedy += " Then call Peripheral.unpair() again."
        return error
    }

    fileprivate static func noBond(object: String) -> BLEError {
        BLEError(
            .notFound,
            operation: "unpair",
            object: object,
            cause: "there is no bond with it",
            remedy: "List the bonds with Central.bonds."
        )
    }
}
