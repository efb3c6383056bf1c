import BLEProtocol

/// Chooses which of several joined adapters connects to a peripheral; ``AdapterChoice/joined(_:)`` has the rules. A
/// value without I/O or clock: callers pass the time.
///
/// The octets of an address identify a peripheral, whatever the address kind.
struct AdapterChooser {
    /// An adapter, by its position in the order.
    typealias AdapterID = Int

    /// How long a reception counts: a scan without duplicates reports each device that often.
    static let memory = Duration.seconds(12)
    /// By how many dB another adapter must receive a peripheral better than the one that had its last link.
    static let hysteresis = 6
    /// How long a controller's refusal counts as its number of connections.
    static let limitMemory = Duration.seconds(60)
    /// How long an adapter that failed to connect to a peripheral comes last for it.
    static let failureMemory = Duration.seconds(30)
    /// The largest number of peripherals to remember.
    static let maximumPeers = 4096

    private struct Adapter {
        var isUsable: Bool
        /// Its last known address: an unplugged adapter still has its bonds.
        var address: BluetoothAddress?
        var links = 0
        /// How many connections it had when it refused another one, and when that was.
        var limit: (count: Int, at: Duration)?

        func isFull(at now: Duration) -> Bool {
            guard let limit, now - limit.at < AdapterChooser.limitMemory else { return false }
            return links >= limit.count
        }
    }

    /// The knowledge of a peripheral, by adapter.
    private struct Peer {
        var heard: [AdapterID: (rssi: Int8?, at: Duration)] = [:]
        var failed: [AdapterID: Duration] = [:]
        /// When it was waited for in vain, if it wasn't received since.
        var vain: [AdapterID: Duration] = [:]
        /// The adapter that had the last link.
        var last: AdapterID?
        /// Those that had no slot for it in its last attempt.
        var full: Set<AdapterID> = []

        func strength(_ adapter: AdapterID, at now: Duration) -> Int? {
            guard let heard = heard[adapter], now - heard.at < AdapterChooser.memory else { return nil }
            return Int(heard.rssi ?? .min)
        }
    }

    private var adapters: [AdapterID: Adapter] = [:]
    private var peers = RecencyTable<UInt64, Peer>()
    private var bonds: [BondedPeer] = []

    // MARK: - Events

    /// An adapter has appeared or changed.
    mutating func isNow(_ info: AdapterInfo, _ adapter: AdapterID) {
        var entry = adapters[adapter] ?? Adapter(isUsable: false)
        entry.isUsable = info.state == .poweredOn
        entry.address = info.address ?? entry.address
        // Another program's connections ended with it too.
        if !entry.isUsable { entry.limit = nil }
        adapters[adapter] = entry
    }

    mutating func heard(_ peer: BluetoothAddress, _ rssi: Int8?, by adapter: AdapterID, at now: Duration) {
        change(peer, at: now) { entry in
            entry.heard[adapter] = (rssi, now)
            entry.vain[adapter] = nil
        }
    }

    mutating func linked(to peer: BluetoothAddress, by adapter: AdapterID, at now: Duration) {
        adapters[adapter]?.links += 1
        change(peer, at: now) { entry in
            entry.last = adapter
            // Earlier receptions don't show where it is when it is connected to again.
            entry.heard = [:]
            entry.failed[adapter] = nil
            entry.vain[adapter] = nil
            entry.full = []
        }
    }

    mutating func unlinked(_ adapter: AdapterID) { adapters[adapter]?.links -= 1 }

    /// The controller has refused one more connection.
    mutating func refused(by adapter: AdapterID, at now: Duration) {
        guard let links = adapters[adapter]?.links else { return }
        adapters[adapter]?.limit = (links, now)
    }

    /// The controller has refused one more connection, to this peripheral.
    mutating func refused(_ peer: BluetoothAddress, by adapter: AdapterID, at now: Duration) {
        refused(by: adapter, at: now)
        change(peer, at: now) { $0.full.insert(adapter) }
    }

    /// An attempt begins.
    mutating func begins(_ peer: BluetoothAddress, at now: Duration) {
        if !refusers(of: peer).isEmpty { change(peer, at: now) { $0.full = [] } }
    }

    mutating func failed(_ peer: BluetoothAddress, by adapter: AdapterID, at now: Duration) {
        change(peer, at: now) { $0.failed[adapter] = now }
    }

    mutating func waitedInVain(for peer: BluetoothAddress, by adapter: AdapterID, at now: Duration) {
        change(peer, at: now) { entry in
            entry.vain[adapter] = now
            // It has a slot again, and hears the peripheral no longer.
            entry.full.remove(adapter)
        }
    }

    /// All bonds of all adapters.
    mutating func restored(_ bonds: [Bond]) { self.bonds = bonds.map(BondedPeer.init) }

    mutating func paired(_ bond: Bond) {
        bonds.removeAll { $0.peer == bond.peer.rawValue && $0.adapter == bond.adapter }
        bonds.append(BondedPeer(bond))
    }

    mutating func unpaired(_ peer: BluetoothAddress) { bonds.removeAll { $0.isBond(with: peer) } }

    // MARK: - Queries

    /// All bonds, with their keys, for an adapter that has none.
    var allBonds: [Bond] { bonds.map(\.bond) }

    /// The best usable adapter for a peripheral; `nil` if there is none.
    func choice(for peer: BluetoothAddress, at now: Duration, except tried: Set<AdapterID> = []) -> AdapterID? {
        let known = peers[number(of: peer)] ?? Peer()
        return usable(for: peer).subtracting(tried).min { left, right in
            rank(left, known, now).lexicographicallyPrecedes(rank(right, known, now))
        }
    }

    /// The adapters that must listen before the choice: all usable ones, if there are several and none has received the
    /// peripheral recently.
    func listeners(for peer: BluetoothAddress, at now: Duration) -> [AdapterID] {
        let (known, usable) = (peers[number(of: peer)] ?? Peer(), usable(for: peer))
        guard usable.count > 1, !usable.contains(where: { known.strength($0, at: now) != nil }) else { return [] }
        return usable.sorted()
    }

    /// The adapters that have the keys of a peripheral; none if there is no bond with it.
    func holders(of peer: BluetoothAddress) -> Set<AdapterID> {
        let owners = bonds.filter { $0.isBond(with: peer) }.map(\.adapter)
        return Set(adapters.filter { entry in owners.contains { $0 == entry.value.address } }.keys)
    }

    /// Whether an adapter that may connect to a peripheral is on.
    func hasCandidates(for peer: BluetoothAddress) -> Bool { !usable(for: peer).isEmpty }

    /// Whether a bond belongs to an adapter.
    func owns(_ bond: Bond, _ adapter: AdapterID) -> Bool { adapters[adapter]?.address == bond.adapter }

    /// The bond that counts among those with a peripheral: that of the adapter that has the link, otherwise of the one
    /// that had the last link, otherwise the first; `nil` if all belong to other adapters.
    ///
    /// - Parameters:
    ///   - addresses: the addresses by which the peripheral is known.
    ///   - holder: the adapter that has the link.
    func bond(among bonds: [Bond], with addresses: [BluetoothAddress], linkedBy holder: AdapterID?) -> Bond? {
        let owned = adapters.keys.sorted().flatMap { adapter in
            bonds.filter { owns($0, adapter) }.map { (adapter: adapter, bond: $0) }
        }
        let last = addresses.compactMap { peers[number(of: $0)]?.last }
        let chosen = owned.first { $0.adapter == holder } ?? owned.first { last.contains($0.adapter) } ?? owned.first
        return chosen?.bond
    }

    /// Whether an adapter has as many links as when its controller refused another one, for a minute.
    func isFull(_ adapter: AdapterID, at now: Duration) -> Bool { adapters[adapter]?.isFull(at: now) == true }

    /// The adapters that had no slot for a peripheral in its last attempt: they have heard it.
    func refusers(of peer: BluetoothAddress) -> Set<AdapterID> { peers[number(of: peer)]?.full ?? [] }

    /// The adapters that may soon have a slot for a peripheral: those, and the one that had its last link.
    func slotAdapters(for peer: BluetoothAddress) -> Set<AdapterID> {
        guard let known = peers[number(of: peer)] else { return [] }
        return known.last.map { known.full.union([$0]) } ?? known.full
    }

    /// The number of an adapter's links.
    func links(of adapter: AdapterID) -> Int { adapters[adapter]?.links ?? 0 }

    // MARK: -

    private func usable(for peer: BluetoothAddress) -> Set<AdapterID> {
        let (all, holders) = (Set(adapters.filter(\.value.isUsable).keys), holders(of: peer))
        return holders.isEmpty ? all : all.intersection(holders)
    }

    /// The lowest rank is the best.
    private func rank(_ adapter: AdapterID, _ peer: Peer, _ now: Duration) -> [Int] {
        let isFull = isFull(adapter, at: now)
        let hasFailed = peer.failed[adapter].map { now - $0 < Self.failureMemory } == true
        let wasLast = peer.last == adapter
        let strength = peer.strength(adapter, at: now)
        return [
            isFull ? 1 : 0,
            hasFailed ? 1 : 0,
            strength == nil ? 1 : 0,
            // The others must be better by the whole hysteresis.
            -((strength ?? 0) + (wasLast && strength != nil ? Self.hysteresis - 1 : 0)),
            // The adapter whose wait is longest ago comes first.
            Int(peer.vain[adapter].map { $0 / .milliseconds(1) } ?? -1),
            wasLast ? 0 : 1,
            adapter,
        ]
    }

    private mutating func change(_ peer: BluetoothAddress, at now: Duration, _ change: (inout Peer) -> Void) {
        let number = number(of: peer)
        var entry = peers[number] ?? Peer()
        change(&entry)
        guard !peers.renew(number, entry, at: now) else { return }
        if peers.count >= Self.maximumPeers, let oldest = peers.oldest { peers.remove(oldest.key) }
        peers.insert(number, entry, at: now)
    }

    /// The number that identifies a peripheral: the octets of its identity if it has a private address and a bond,
    /// otherwise those of its address.
    private func number(of peer: BluetoothAddress) -> UInt64 {
        guard peer.subkind == .resolvablePrivate else { return peer.rawValue }
        return bonds.first { $0.isBond(with: peer) }?.peer ?? peer.rawValue
    }
}

/// The peer of an adapter's bond.
private struct BondedPeer {
    let bond: Bond
    let peer: UInt64

    var adapter: BluetoothAddress { bond.adapter }

    init(_ bond: Bond) {
        self.bond = bond
        peer = bond.peer.rawValue
    }

    /// Whether this is the peripheral's address, or one made with its identity key.
    func isBond(with address: BluetoothAddress) -> Bool {
        if address.rawValue == peer { return true }
        guard address.subkind == .resolvablePrivate, let identityKey = bond.identityKey else { return false }
        return identityKey.resolves(address)
    }
}
