package import BLEProtocol
import BLERadio

extension PeerRecord {
    /// The bonds with the peer, of all adapters.
    func bonds(with peer: BluetoothAddress) -> [Bond] { (bonds ?? []).compactMap { $0.bond(with: peer) } }
}

// Bonds, whichever side began the pairing.
extension PeerStore {
    /// The bonds with a peer, of all adapters. Reads a file: not for the radio's thread.
    func bonds(with peer: BluetoothAddress) -> [Bond] { record(of: peer).bonds(with: peer) }

    /// Why it can't be known whether there is a bond with a peer: there may be a file of it that can't be read; `nil`
    /// if it can. Reads files.
    func obstacle(to peer: BluetoothAddress) -> BLEError? {
        guard let folder else { return nil }
        let obstacle: BLEError?
        if peer.subkind == .resolvablePrivate {
            // The bond is in the file of its identity, whichever that is.
            obstacle = knownBonds().obstacle
        } else {
            do throws(BLEError) {
                let notice = try folder.read(peer).notice
                if let notice { tell(notice) }
                obstacle = nil
            } catch {
                obstacle = error
            }
        }
        return folder.mayHaveFiles ? obstacle : nil
    }

    /// Why a bond may not take the place of the adapter's former one with the peer: it would protect less, or it can't
    /// be known whether it would. `nil` if it may. Reads a file: not for the radio's thread.
    ///
    /// - Parameter object: the pairing, for the error.
    func objection(to bond: Bond, _ object: String) -> BLEError? {
        let former = bonds(with: bond.peer).first { $0.adapter == bond.adapter }
        if let loss = former?.loss(by: bond) { return .weakensBond(object, loss) }
        // None protects more than that.
        if bond.level == .secureConnections { return nil }
        return obstacle(to: bond.peer).map { .bondUnread($0, "pair", object) }
    }

    /// The identity behind a private address, if a bond reveals it; otherwise the address itself. Reads files.
    func identity(of address: BluetoothAddress) -> BluetoothAddress {
        guard address.subkind == .resolvablePrivate else { return address }
        return bonds().first { $0.identityKey?.resolves(address) == true }?.peer ?? address
    }

    /// Stores a bond in place of the adapter's former one with the peer.
    ///
    /// What the peer has configured as a central, ``PeerRecord/allServed``, stays. The specification keeps it "for
    /// bonded devices", without a word about new keys (Core Specification, Vol 3, Part G, 3.3.3.3), and nothing tells
    /// the server why a central pairs anew. One that wants better keys doesn't write its subscriptions again, and would
    /// wait in vain. One that has lost its bond gets values that it ignores, or switches off. Each value is still held
    /// to the security that its characteristic requires. ``forgetBonds(with:)`` does end them.
    package func remember(_ bond: Bond) {
        let adapter = bond.adapter.descriptionWithKind
        update(bond.peer, isOfBond: true) { record in
            record.bonds = (record.bonds ?? []).filter { $0.adapter != adapter } + [BondRecord(bond)]
        }
    }

    /// Stores what there was before a bond was stored, of the same adapter; nothing where another bond has taken its
    /// place meanwhile.
    func takeBack(_ bond: Bond, for former: [Bond]) {
        let (stored, former) = (BondRecord(bond), former.map { BondRecord($0) })
        update(bond.peer, isOfBond: true) { record in
            guard let bonds = record.bonds, bonds.contains(stored) else { return }
            let others = bonds.filter { $0 != stored } + former
            record.bonds = others.isEmpty ? nil : others
        }
    }

    /// Removes the bonds with a peer, of all adapters.
    package func forgetBonds(with peer: BluetoothAddress) {
        update(peer, isOfBond: true) { record in
            record.bonds = nil
            // Without a bond it keeps no subscriptions, and none are kept for it.
            record.subscribed = nil
            record.allServed = []
        }
    }

    /// Loads the keys of all bonds into a radio; calls back later, unless it is undone before.
    ///
    /// - Parameter result: called with the bonds, and the error if there was one.
    /// - Returns: the closure that undoes it.
    func restoreAllBonds(
        to radio: any Radio,
        inPlaceOf former: [Bond] = [],
        _ result: @escaping @Sendable ([Bond], BLEError?) -> Void
    ) -> @Sendable () -> Void {
        restoreAllBonds(to: radio, inPlaceOf: former, read: { _, _ in }, result: result)
    }

    /// The same.
    ///
    /// - Parameter read: called with the bonds before the radio gets them, and whether these are all.
    func restoreAllBonds(
        to radio: any Radio,
        inPlaceOf former: [Bond] = [],
        read: @escaping @Sendable (_ bonds: [Bond], _ areAll: Bool) -> Void,
        result: @escaping @Sendable ([Bond], BLEError?) -> Void
    ) -> @Sendable () -> Void {
        let restoring = Ending<Void>()
        perform(on: radio.timeline) {
            let known = self.knownBonds()
            read(known.bonds, known.obstacle == nil)
            var bonds = known.bonds
            for old in former {
                for index in bonds.indices where bonds[index].peer == old.peer && bonds[index].adapter == old.adapter {
                    bonds[index].formerKeys += old.encryptionKeys
                }
            }
            guard !restoring.hasEnded else { return }
            restoring.cancel(
                radio.restore(bonds) { [bonds] outcome in
                    if case .failure(let error) = outcome { result(bonds, error) } else { result(bonds, nil) }
                }
            )
        }
        return { restoring.end() }
    }
}
