internal import BLEProtocol

extension KernelKeyList {
    /// These keys without those that the bonds were made to replace.
    func withoutFormerKeys(of bonds: [Bond]) -> KernelKeyList {
        let former = Set(bonds.flatMap { bond in bond.formerKeys.map { ManagementLongTermKey($0, of: bond.peer) } })
        return KernelKeyList(longTerm: longTerm.filter { !former.contains($0) }, identity: identity)
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
