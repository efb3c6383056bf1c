internal import BLEProtocol

/// The keys of new bonds that the kernel has reported, of any program, and the bonds that were removed, in their order.
///
/// A list of keys that was read before one of them was made lacks it, and loading that list would remove it. One that
/// was read before a bond was removed would put it back.
struct ReportedKeys: Sendable {
    private struct Report<Key: Sendable>: Sendable {
        let key: Key
        let number: Int
    }

    /// As many bonds are not made within one load, nor by programs that run at once.
    private static let maximum = 64

    private var longTerm: [Report<ManagementLongTermKey>] = []
    private var identity: [Report<ManagementIdentityResolvingKey>] = []

    private var removals: [Report<ManagementAddress>] = []
    /// The number of reports so far, of keys and of removed bonds.
    private(set) var count = 0

    /// Takes a key; it replaces those of the same peer that it can't stand beside.
    mutating func take(_ key: ManagementLongTermKey) {
        // One key of LE Secure Connections, or one for each role of a legacy pairing.
        longTerm.removeAll {
            $0.key.address == key.address && ($0.key.kind != key.kind || $0.key.initiator == key.initiator)
        }
        count += 1
        longTerm.append(Report(key: key, number: count))
        if longTerm.count > Self.maximum { longTerm.removeFirst() }
    }

    /// Takes a key.
    mutating func take(_ key: ManagementIdentityResolvingKey) {
        identity.removeAll { $0.key.address == key.address }
        count += 1
        identity.append(Report(key: key, number: count))
        if identity.count > Self.maximum { identity.removeFirst() }
    }

    /// All have been removed; what is reported from now on is counted on.
    mutating func removeAll() { (longTerm, identity) = ([], []) }

    /// The bond with a peer has been removed.
    mutating func remove(_ peer: ManagementAddress) {
        forget(peer)
        removals.removeAll { $0.key == peer }
        count += 1
        removals.append(Report(key: peer, number: count))
        if removals.count > Self.maximum { removals.removeFirst() }
    }

    /// Which keys of a peer the kernel has is no longer known.
    mutating func forget(_ peer: ManagementAddress) {
        longTerm.removeAll { $0.key.address == peer }
        identity.removeAll { $0.key.address == peer }
    }

    /// The peers whose bonds were removed behind a number of reports.
    func removed(after number: Int) -> Set<ManagementAddress> {
        Set(removals.filter { $0.number > number }.map(\.key))
    }

    /// The keys behind a number of reports.
    func after(_ number: Int) -> KernelKeyList {
        KernelKeyList(
            longTerm: longTerm.filter { $0.number > number }.map(\.key),
            identity: identity.filter { $0.number > number }.map(\.key)
        )
    }

    /// A list, and the keys behind a number of reports of peers of which it has none.
    func completing(_ list: KernelKeyList, after number: Int = 0) -> KernelKeyList {
        let (peers, identities) = (Set(list.longTerm.map(\.address)), Set(list.identity.map(\.address)))
        let new = after(number)
        return KernelKeyList(
            longTerm: list.longTerm + new.longTerm.filter { !peers.contains($0.address) },
            identity: list.identity + new.identity.filter { !identities.contains($0.address) }
        )
    }
}
