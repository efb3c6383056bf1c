internal import BLEProtocol

extension KernelKeyList {
    /// These keys without those that the bonds were made to replace.
    func withoutFormerKeys(of bonds: [Bond]) -> KernelKeyList {
        let former = Set(bonds.flatMap { bond in bond.formerKeys.map { ManagementLongTermKey($0, of: bond.peer) } })
        return KernelKeyList(longTerm: longTerm.filter { !former.contains($0) }, identity: identity)
    }

    /// The levels of the peers' keys here that differ from those of the bonds: a link is encrypted with these.
    func levels(inPlaceOf bonds: [Bond]) -> [BluetoothAddress: LinkSecurity.Level] {
        contested(by: KernelKeyList(bonds)).reduce(into: [:]) { levels, address in
            guard let peer = address.lowEnergy else { return }
            let keys = longTerm.filter { $0.address == address }
            levels[peer] = keys.map { Bond.EncryptionKey($0).level }.min()
        }
    }

    /// The keys of bonds.
    init(_ bonds: [Bond]) {
        self.init(
            longTerm: bonds.flatMap { bond in
                bond.encryptionKeys.map { ManagementLongTermKey($0, of: bond.peer) }
            },
            identity: bonds.compactMap { bond in
                bond.identityKey.map {
                    ManagementIdentityResolvingKey(address: ManagementAddress(bond.peer), value: $0)
                }
            }
        )
    }
}

extension ManagementLongTermKey {
    fileprivate init(_ key: Bond.EncryptionKey, of peer: BluetoothAddress) {
        self.init(
            address: ManagementAddress(peer),
            kind: Kind(rawValue: key.kind),
            initiator: key.initiator,
            size: key.size,
            diversifier: key.diversifier,
            random: key.random,
            value: key.value
        )
    }
}

extension Bond.EncryptionKey {
    init(_ key: ManagementLongTermKey) {
        self.init(
            kind: key.kind.rawValue,
            initiator: key.initiator,
            size: key.size,
            diversifier: key.diversifier,
            random: key.random,
            value: key.value
        )
    }
}
