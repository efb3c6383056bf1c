import BLEProtocol
public import BLERadio

extension Central {
    /// The bonds that this library has made and stored, of all adapters, in the order of the peers' addresses.
    ///
    /// Bonds made by bluetoothd are not included. Reads files, so don't use it on ``executor``.
    ///
    /// It throws ``BLEError/Code/systemFailure`` if the folder, or a file that may have a bond, can't be read: a
    /// program that took that for no bond would pair again with devices that still have their keys.
    public var bonds: [Bond] {
        get throws {
            let (bonds, obstacle) = core.store.knownBonds()
            if let obstacle { throw BLEError.unread("not all bonds could be read", obstacle, "list bonds") }
            return bonds
        }
    }

    /// Stores bonds that were made elsewhere, on another machine or by bluetoothd, as if this program had paired.
    ///
    /// ```swift
    /// try await central.adopt(Bond.importedFromBluetoothd())
    /// ```
    ///
    /// The adapter gets their keys before the next link to one of the peers; those of centrals, when a
    /// ``LocalPeripheral`` begins to serve: adopt them before that. Either all are stored or none.
    /// Cancellation doesn't end it, since it only writes a few files, and replaces former keys that the adapter has.
    ///
    /// - Parameters:
    ///   - bonds: the bonds, from ``Bond/imported(from:)`` or ``Bond/importedFromBluetoothd(in:)``.
    ///   - replacing: whether they may replace bonds with other keys between the same peer and adapter; of several such
    ///     bonds among them, the last one then remains.
    /// - Throws: ``BLEError/Code/securityFailed`` if one would replace a bond, or another one of them, without
    ///   permission; ``BLEError/Code/systemFailure`` if they could not be written, or if a file that may have a former
    ///   bond with one of the peers can't be read: nothing is stored then. A bond that was replaced by then is put
    ///   back; if the disk has no room for it, it is kept like any bond that could not be written: see ``PeerStore``.
    public func adopt(_ bonds: [Bond], replacing: Bool = false) async throws {
        if !replacing, let rival = bonds.firstRival { throw BLEError.rivals(rival) }
        let (store, timeline) = (core.store, core.timeline)
        let (before, unread): ([[Bond]], BLEError?) = await withCheckedContinuation { continuation in
            store.perform(on: timeline) {
                let before = bonds.map { bond in store.bonds(with: bond.peer).filter { $0.adapter == bond.adapter } }
                // What can't be read can't be written either: the change would be left for later, and replace it then.
                var unread: BLEError?
                for bond in bonds where unread == nil {
                    unread = store.obstacle(to: bond.peer).map { .bondUnread($0, "adopt", "the \(bond)") }
                }
                continuation.resume(returning: (before, unread))
            }
        }
        if let unread { throw unread }
        let former = zip(before, bonds).flatMap { kept, bond in kept.filter { $0 != bond } }
        if let obstacle = former.first, !replacing { throw BLEError.wouldReplace(obstacle) }
        // A scan that is under way goes by their identities, too.
        for bond in bonds { core.remember(bond) }
        await store.flush(on: timeline)
        if let failure = bonds.lazy.compactMap({ store.bondFailure(of: $0.peer) }).first {
            // Those that were written, and those that would be later.
            for (bond, kept) in zip(bonds, before) { store.takeBack(bond, for: kept) }
            await store.flush(on: timeline)
            await withCheckedContinuation { continuation in core.renewIdentities { continuation.resume() } }
            throw failure
        }
        if !former.isEmpty { await putInPlace(of: former) }
    }

    /// Replaces the former keys of these bonds' peers in the adapter, which may have them: otherwise a later caller
    /// would take them for another program's. An adapter that can't replace them gets the new ones with the next link.
    ///
    /// Cancellation doesn't interrupt it: the bonds are stored by now. The radio has limits of its own.
    private func putInPlace(of former: [Bond]) async {
        let core = core
        await undisturbedReply(on: core.timeline) { finish in
            core.store.restoreAllBonds(to: core.radio, inPlaceOf: former) { _, _ in finish(()) }
        }
    }
}

extension [Bond] {
    /// The first bond with other keys than an earlier one between the same peer and adapter; `nil` if there is none.
    fileprivate var firstRival: Bond? {
        for (index, bond) in enumerated() {
            let isRival = self[..<index].contains { $0.peer == bond.peer && $0.adapter == bond.adapter && $0 != bond }
            if isRival { return bond }
        }
        return nil
    }
}

extension BLEError {
    fileprivate static func rivals(_ bond: Bond) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "adopt",
            object: "the \(bond)",
            cause: "the bonds include another one between these two, with other keys, and the peer knows only one",
            remedy: "Leave out those whose keys the peer no longer has."
        )
    }

    fileprivate static func wouldReplace(_ bond: Bond) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "adopt",
            object: "the \(bond)",
            cause: "a bond with other keys exists already, and the peer knows only one of the two",
            remedy: "If the peer knows the new keys, pass replacing: true to Central.adopt(_:replacing:)."
        )
    }
}
