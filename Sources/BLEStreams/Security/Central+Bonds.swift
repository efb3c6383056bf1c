import BLEProtocol
public import BLERadio

extension Central {
    /// The bonds that this library has made and kept, in the order of the peers' addresses; of all adapters.
    ///
    /// Bonds that bluetoothd has made are not among them. Reads files, so ask elsewhere than on ``executor``.
    public var bonds: [Bond] { core.store.peers().flatMap { core.bonds(with: $0) } }

    /// Keeps bonds that were made elsewhere, on another machine or by bluetoothd, as if this program had paired.
    ///
    /// ```swift
    /// try await central.adopt(Bond.importedFromBluetoothd())
    /// ```
    ///
    /// The adapter is given their keys before the next link to one of the peers. All are kept, or none. Cancellation doesn't
    /// end it: it is a matter of a few files.
    ///
    /// - Parameters:
    ///   - bonds: those of ``Bond/imported(from:)`` or ``Bond/importedFromBluetoothd(in:)``.
    ///   - replacing: whether they may take the place of bonds with other keys, between the same peer and adapter.
    /// - Throws: ``BLEError/Code/securityFailed`` where one would, and may not; ``BLEError/Code/systemFailure`` where they
    ///   could not be written.
    public func adopt(_ bonds: [Bond], replacing: Bool = false) async throws {
        let (store, timeline) = (core.store, core.timeline)
        let former: [Bond] = await withCheckedContinuation { continuation in
            store.perform(on: timeline) {
                let others = bonds.flatMap { bond in
                    store.bonds(with: bond.peer).filter { $0.adapter == bond.adapter && $0 != bond }
                }
                continuation.resume(returning: others)
            }
        }
        if let obstacle = former.first, !replacing { throw BLEError.wouldReplace(obstacle) }
        for bond in bonds { store.remember(bond) }
        await store.flush(on: timeline)
        for bond in bonds { if let failure = store.failure(of: bond.peer) { throw failure } }
        if !former.isEmpty { try await putInPlace(of: former) }
    }

    /// Has the adapter take the new keys of the peers of bonds in place of those, which it may have from before: to whoever
    /// comes later they would be another program's. An adapter that can't is given them with the next link.
    private func putInPlace(of former: [Bond]) async throws {
        let core = core
        try await reply(on: core.timeline) { finish in
            let undo = core.store.restoreAllBonds(to: core.radio, inPlaceOf: former) { _, _ in finish(.success(())) }
            return { undo() }
        }
    }
}

extension BLEError {
    fileprivate static func wouldReplace(_ bond: Bond) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "adopt",
            object: "the \(bond)",
            cause: "there is one with other keys already, and the peer knows one of the two",
            remedy: "Where that is the new one, say so: Central.adopt(_:replacing:)."
        )
    }
}
