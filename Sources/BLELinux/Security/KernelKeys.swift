internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// The bonds' keys that this program has given the kernel, for one adapter.
///
/// The kernel keeps them while the adapter is plugged in, and forgets them when it is removed. A list that is loaded
/// replaces the previous one, of any program, and no command adds to it. So, depending on what is known:
///
/// 1. If debugfs shows what the kernel has (to root), ours are added to it: no program loses a key, not even one that
///    is made meanwhile, and keys that bluetoothd has removed by its own list are put back. Other keys of the same peer
///    stay: the program that gave them has paired since, or believes so, and only the peer knows which keys are valid.
/// 2. Otherwise the list is ours only if bluetoothd is known not to run, from the processes or from the system bus, and
///    no other program of this library has set it, according to ``KeyClaim``.
/// 3. Otherwise nothing is loaded, and the result says whose the list is: ``KeyObstacle``.
final class KernelKeys: Sendable {
    private struct State {
        /// The peers whose keys the kernel has from this program; `nil`: nothing was loaded yet.
        var peers: Set<BluetoothAddress>?
        /// The peers with which the kernel has since made a bond's keys, for any program.
        var bonded: Set<BluetoothAddress> = []
        /// The peers among these whose bonds are authenticated.
        var authenticated: Set<BluetoothAddress> = []
        /// The keys of the bonds that counted as loaded at the last load, unless the kernel has reported others since.
        var given: [BluetoothAddress: [Bond.EncryptionKey]] = [:]
        /// The levels of the keys that the kernel certainly has.
        var levels: [BluetoothAddress: LinkSecurity.Level] = [:]
        /// The peers for which the kernel has keys that differ from this program's and were left there, with their
        /// levels.
        var contested: [BluetoothAddress: LinkSecurity.Level] = [:]
        /// What the kernel has reported, and a list that was read before may lack.
        var reported = ReportedKeys()
        /// Tells other programs that the list belongs to this one.
        var claim: KeyClaim?
        /// Whether bluetoothd was last found not to run: one that starts then removes the keys of all bonds.
        var isAlone = false
        /// How often the adapter had been removed when something was last forgotten for that.
        var removals = 0
        var observation: RadioActivity?
        var watch: BluetoothdWatch?

        /// A bluetoothd that has started since has replaced the list, and may be gone when the next one is loaded.
        mutating func found(_ bluetoothd: Bluetoothd.Presence) {
            switch bluetoothd {
            case .absent: isAlone = true
            case .here:
                if isAlone { bonded = [] }
                (peers, given, isAlone) = (nil, [:], false)
            case .unknown: break
            }
        }

        /// The keys that the kernel has made since it was last given some for their peers, for any program.
        var made: KernelKeyList {
            let peers = Set(bonded.filter { given[$0] == nil }.map { ManagementAddress($0) })
            return KernelKeyList(
                longTerm: reported.after(0).longTerm.filter { peers.contains($0.address) },
                identity: []
            )
        }

        /// Bonds that were replaced since the last load, by this program or another one that shares the store, take the
        /// place of their former keys: the kernel doesn't have these bonds.
        mutating func noticeReplaced(_ bonds: [Bond]) -> [Bond] {
            bonds.map { bond in
                var bond = bond
                if let former = given[bond.peer] {
                    guard !former.contains(where: bond.encryptionKeys.contains) else { return bond }
                    bond.formerKeys += former
                }
                if !bond.formerKeys.isEmpty {
                    peers?.remove(bond.peer)
                    bonded.remove(bond.peer)
                    given[bond.peer] = nil
                }
                return bond
            }
        }
    }

    private let management: ManagementSocket?
    private let removals: @Sendable () -> Int
    private let state = Mutex(State())

    /// - Parameter removals: how often the adapter was found to have been removed, as far as that can be known.
    init(management: ManagementSocket?, removals: @escaping @Sendable () -> Int = { 0 }) {
        self.management = management
        self.removals = removals
        let already = removals()
        state.withLock { $0.removals = already }
        let observation = management?.observe { [weak self] events in
            for event in events {
                switch event.event {
                case .indexRemoved, .extendedIndexRemoved: self?.forgetAll()
                case .newLongTermKey(let new):
                    if new.storeHint, let peer = new.key.address.lowEnergy { self?.noteBond(peer, new.key) }
                case .newIdentityResolvingKey(let new):
                    if new.storeHint { self?.state.withLock { $0.reported.take(new.key) } }
                case .deviceUnpaired(let address):
                    if let peer = address.lowEnergy { self?.remove(peer) }
                default: break
                }
            }
        } lost: { [weak self] _ in
            self?.missedEvents()
        }
        state.withLock { $0.observation = observation }
    }

    deinit { state.withLock { $0.watch }?.end() }

    /// Notices each bluetoothd that comes from now on: one that is gone before the next load has replaced the list all
    /// the same. On the loop's thread.
    ///
    /// - Parameter bus: a bus that is there.
    func watchBluetoothd(over bus: SystemBus, loop: EventLoop, timeline: any Timeline) {
        let watch = BluetoothdWatch()
        let isFirst = state.withLock { state in
            guard state.watch == nil else { return false }
            state.watch = watch
            return true
        }
        guard isFirst else { return }
        watch.begin(over: bus, loop: loop, timeline: timeline) { [weak self] in
            self?.state.withLock { $0.found(.here) }
        }
    }

    /// The adapter's removal may be among events that were lost. If it was not removed, the kernel still has the keys,
    /// also those that no program could give it again.
    private func missedEvents() {
        let now = removals()
        if state.withLock({ $0.removals != now }) { forgetAll() }
    }

    private func forgetAll() {
        let now = removals()
        state.withLock { state in
            state.removals = now
            state.peers = nil
            state.bonded = []
            state.given = [:]
            state.authenticated = []
            state.levels = [:]
            state.contested = [:]
            state.reported.removeAll()
            state.claim = nil
        }
    }

    private func noteBond(_ peer: BluetoothAddress, _ key: ManagementLongTermKey) {
        state.withLock { state in
            state.reported.take(key)
            state.bonded.insert(peer)
            state.given[peer] = nil
            state.levels[peer] = Bond.EncryptionKey(key).level
            state.contested[peer] = nil
            if Bond.EncryptionKey(key).isAuthenticated {
                state.authenticated.insert(peer)
            } else {
                state.authenticated.remove(peer)
            }
        }
    }

    /// Whether there is a bond with a peer, as far as this program has seen or given it, that was made with a passkey
    /// or by comparing numbers.
    func isAuthenticated(_ peer: BluetoothAddress) -> Bool { state.withLock { $0.authenticated.contains(peer) } }

    /// Whether the kernel had other keys for a peer than this program when it was to be given this program's.
    func isContested(_ peer: BluetoothAddress) -> Bool { state.withLock { $0.contested[peer] != nil } }

    /// Whether the kernel has a key of a bond with a peer, as far as this program has seen or given it.
    func isKnown(_ peer: BluetoothAddress) -> Bool {
        state.withLock { $0.bonded.contains(peer) || $0.peers?.contains(peer) == true }
    }

    /// The level of the key that the kernel certainly has for a peer; `nil` if another program may have replaced it.
    func level(of peer: BluetoothAddress) -> LinkSecurity.Level? { state.withLock { $0.levels[peer] } }

    /// - Parameter count: the number of reports that the bonds take into account: one that was removed since isn't
    ///   there, and one that was made since is another one.
    private func note(_ bonds: [Bond], areThere: Bool, after count: Int) {
        state.withLock { state in
            let made = state.reported.after(count).longTerm.map(\.address)
            let changed = state.reported.removed(after: count).union(made)
            for bond in bonds where !changed.contains(ManagementAddress(bond.peer)) {
                let foreign = state.contested[bond.peer]
                state.levels[bond.peer] = areThere ? foreign ?? bond.level : nil
                state.given[bond.peer] = areThere && foreign == nil ? bond.encryptionKeys : nil
            }
        }
    }

    /// The kernel has made keys with a peer by itself.
    func note(_ peer: BluetoothAddress) { _ = state.withLock { $0.peers?.insert(peer) } }

    /// The bond with a peer is removed from the kernel, or was not in it.
    ///
    /// - Parameter isCertain: otherwise the kernel may have a key for it, which is not known.
    func remove(_ peer: BluetoothAddress, isCertain: Bool = true) {
        let claim = state.withLock { state in
            state.peers?.remove(peer)
            state.bonded.remove(peer)
            state.given[peer] = nil
            state.levels[peer] = nil
            state.contested[peer] = nil
            // Whatever the kernel has: nobody has removed the bond, and Just Works must not replace it.
            if isCertain { state.authenticated.remove(peer) }
            let address = ManagementAddress(peer)
            if isCertain { state.reported.remove(address) } else { state.reported.forget(address) }
            return state.claim
        }
        claim?.remove(peer)
    }

    /// What may be loaded into the kernel, depending on what is known about other programs' keys.
    enum Plan: Hashable {
        /// Nothing: it has all of them.
        case nothing
        /// This list.
        case load(KernelKeyList)
        /// Nothing, since the list may belong to another program.
        case refuse(KeyObstacle)
    }

    /// - Parameters:
    ///   - current: what the kernel has; `nil` if this program may not read it.
    ///   - areLoaded: whether this program has already loaded the bonds, or has seen the kernel make them.
    ///   - claimed: all bonds that this program has loaded or is about to, once the list is claimed; `nil` if another
    ///     program has claimed it.
    static func plan(
        for bonds: [Bond],
        current: KernelKeyList?,
        areLoaded: Bool,
        bluetoothd: Bluetoothd.Presence,
        claimed: () -> [Bond]?
    ) -> Plan {
        let all = KernelKeyList(bonds)
        if let current {
            let own = all.without(current.contested(by: all))
            // Even if there are none: only then does the kernel accept a peer's identity in a pairing.
            if current.contains(own), areLoaded || !bonds.isEmpty { return .nothing }
            return .load(current.replacing(with: own))
        }
        switch bluetoothd {
        case .here: return areLoaded ? .nothing : .refuse(.bluetoothd)
        case .unknown: return areLoaded ? .nothing : .refuse(.perhapsBluetoothd)
        case .absent where areLoaded: return .nothing
        case .absent: return claimed().map { .load(KernelKeyList($0)) } ?? .refuse(.anotherProgram)
        }
    }

    /// How many keys and removed bonds were reported, to be read before the kernel's list is: what the kernel has
    /// reported by then, and the list lacks, another program has replaced by a list of its own, as a bluetoothd does
    /// that starts.
    var reportCount: Int { state.withLock { $0.reported.count } }

    /// Gives the kernel what it lacks; on the loop's thread. The closure is called there, or immediately.
    ///
    /// - Parameter count: ``reportCount`` from before the kernel's list was read, and from behind the reading of the
    ///   store.
    func load(
        _ stored: [Bond],
        on adapter: String,
        current: KernelKeyList?,
        readAfter count: Int = 0,
        bluetoothd: Bluetoothd.Presence,
        of kernel: Kernel = .ofThisMachine,
        _ result: @escaping @Sendable (Result<Void, KeyObstacle>) -> Void
    ) {
        guard let management else { return result(.success(())) }
        let (bonds, loaded, bonded, reported, gone, made) = state.withLock { state in
            // Removed since the store and the list were read: not to be given again.
            let gone = state.reported.removed(after: count)
            let stored = stored.filter { !gone.contains(ManagementAddress($0.peer)) }
            state.authenticated.formUnion(stored.filter(\.isAuthenticated).map(\.peer))
            // A list that can be read shows it by itself.
            if current == nil { state.found(bluetoothd) }
            let bonds = state.noticeReplaced(stored)
            return (bonds, state.peers, state.bonded, state.reported, gone, state.made)
        }
        let peers = Set(bonds.map(\.peer))
        let current = current.map { list in
            reported.completing(list.without(gone), after: count).withoutFormerKeys(of: bonds)
        }
        // What was loaded before bluetoothd started is gone, or may be.
        let lasting = bluetoothd == .absent || current != nil ? loaded : nil
        let areLoaded = peers.isSubset(of: bonded.union(lasting ?? [])) && (lasting != nil || !peers.isEmpty)
        var refusal: SystemError?
        let plan = Self.plan(for: bonds, current: current, areLoaded: areLoaded, bluetoothd: bluetoothd) {
            do throws(SystemError) {
                let claim = try KeyClaim.take(of: adapter, on: kernel)
                state.withLock { $0.claim = claim }
                return claim?.add(bonds)
            } catch {
                refusal = error
                return nil
            }
        }
        // A list that is loaded unseen takes the place of all that there is.
        let kept = if case .load = plan, current == nil { KernelKeyList([]) } else { current ?? made }
        state.withLock { $0.contested = kept.levels(inPlaceOf: bonds) }
        switch plan {
        case .nothing:
            note(bonds, areThere: true, after: reported.count)
            result(.success(()))
        case .refuse(let obstacle):
            note(bonds, areThere: false, after: reported.count)
            result(.failure(refusal.map { .system($0) } ?? obstacle))
        case .load(let keys):
            // A claim knows what was loaded; what the kernel has made since, for another part of this program, stays.
            let keys = current == nil ? reported.completing(keys) : keys
            give(keys, peers, management, after: reported.count) { [self] outcome in
                if case .success = outcome { note(bonds, areThere: true, after: reported.count) }
                result(outcome)
            }
        }
    }

    /// - Parameter count: the number of reports that the keys take into account. What the kernel has made since is
    ///   given to it again: a pairing, of any program, may have ended between the reading of a list and its loading. So
    ///   may a bond have been removed: the list may have put it back, and is given again without it.
    private func give(
        _ keys: KernelKeyList,
        _ peers: Set<BluetoothAddress>,
        _ management: ManagementSocket,
        after count: Int,
        _ result: @escaping @Sendable (Result<Void, KeyObstacle>) -> Void
    ) {
        guard keys.fits else {
            return result(.failure(.tooMany(longTerm: keys.longTerm.count, identity: keys.identity.count)))
        }
        management.submit(ManagementLoadIdentityResolvingKeys(keys.identity)) { [self] answer in
            if case .failure(let failure) = answer { return result(.failure(.management(failure))) }
            management.submit(ManagementLoadLongTermKeys(keys.longTerm)) { [self] answer in
                if case .failure(let failure) = answer { return result(.failure(.management(failure))) }
                let (made, left, given, newCount) = state.withLock { state in
                    let gone = state.reported.removed(after: count)
                    let given = peers.filter { !gone.contains(ManagementAddress($0)) }
                    state.peers = given.union(state.peers ?? [])
                    return (state.reported.after(count), keys.without(gone), given, state.reported.count)
                }
                if left == keys, keys.contains(made) { return result(.success(())) }
                give(left.replacing(with: made), given, management, after: newCount, result)
            }
        }
    }
}
