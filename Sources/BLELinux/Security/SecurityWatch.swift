internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Tells the links of an adapter when a peer's request to pair or to encrypt has failed.
///
/// A peripheral sends a Security Request, a central a Pairing Request; the kernel answers either by itself, and sends
/// an event for a failure, but not to the program that has requested the pairing.
final class SecurityWatch: Sendable {
    private struct State {
        var sinks: [BluetoothAddress: [EventSink<BLEError?>]] = [:]
        /// The observers of new keys.
        var keySinks: [BluetoothAddress: [EventSink<Void>]] = [:]
        /// The identities of peers that sent them recently, by their private addresses.
        var identities: [BluetoothAddress: BluetoothAddress] = [:]
        /// The peers with which this program pairs by itself, and how often: these pairings tell their own failures.
        var engaged: [BluetoothAddress: Int] = [:]
        /// Why the last links ended, by their peers.
        var ends: [BluetoothAddress: ManagementDisconnectReason] = [:]
        var observation: RadioActivity?

        /// Forgets those of links that have ended. One that is up may be for months, and is asked about at its end.
        mutating func forgetIdentities() {
            identities = identities.filter { sinks[$0.value] != nil }
            // One peer may have told its own under any number of addresses.
            if identities.count >= SecurityWatch.maximumIdentities { identities = [:] }
        }
    }

    private let state = Mutex(State())

    init(management: ManagementSocket?) {
        let observation = management?.observe { [weak self] events in
            for event in events {
                switch event.event {
                case .authenticationFailed(let address, let status):
                    if let peer = address.lowEnergy { self?.failed(peer, status) }
                case .newIdentityResolvingKey(let new):
                    if let identity = new.key.address.lowEnergy { self?.rename(new.privateAddress, to: identity) }
                case .newLongTermKey(let new):
                    if let peer = new.key.address.lowEnergy { self?.keysMade(with: peer) }
                case .deviceConnected(let connected): self?.note(nil, connected.address)
                case .deviceDisconnected(let address, let reason): self?.note(reason, address)
                default: break
                }
            }
        } lost: { [weak self] _ in
            self?.missedEvents()
        }
        state.withLock { $0.observation = observation }
    }

    /// The lost events may be ends of links, or new keys with anybody.
    private func missedEvents() {
        let sinks = state.withLock { state in
            // They may be those of earlier links.
            state.ends = [:]
            return state.keySinks.values.flatMap(\.self)
        }
        for sink in sinks { sink.send(()) }
    }

    /// Reports new keys with a peer, and losses of events, which may be of such, on the loop's thread, until the
    /// activity is cancelled.
    func watchKeys(of peer: BluetoothAddress, _ made: @escaping @Sendable () -> Void) -> RadioActivity {
        let sink = EventSink<Void> { made() }
        state.withLock { $0.keySinks[peer, default: []].append(sink) }
        return RadioActivity { [weak self] in
            sink.close()
            self?.state.withLock { state in
                state.keySinks = state.keySinks.compactMapValues { sinks in
                    let others = sinks.filter { $0 !== sink }
                    return others.isEmpty ? nil : others
                }
            }
        }
    }

    private func keysMade(with peer: BluetoothAddress) {
        let sinks = state.withLock { $0.keySinks[peer] ?? [] }
        for sink in sinks { sink.send(()) }
    }

    /// This program pairs with a peer by itself, until the returned closure is called, once: what fails meanwhile isn't
    /// told as a wish of the peer's.
    func engage(_ peer: BluetoothAddress) -> @Sendable () -> Void {
        state.withLock { $0.engaged.add(peer) }
        return { [weak self] in self?.state.withLock { $0.engaged.takeAway(peer) } }
    }

    /// Reports each failure with a peer, on the loop's thread, until the activity is cancelled.
    ///
    /// - Parameter failed: gets the error; `nil` if this program pairs with the peer by itself, which tells its own.
    func watch(_ peer: BluetoothAddress, _ failed: @escaping @Sendable (BLEError?) -> Void) -> RadioActivity {
        let sink = EventSink(failed)
        state.withLock { $0.sinks[peer, default: []].append(sink) }
        return RadioActivity { [weak self] in
            sink.close()
            self?.remove(sink)
        }
    }

    private func remove(_ sink: EventSink<BLEError?>) {
        state.withLock { state in
            state.sinks = state.sinks.compactMapValues { sinks in
                let others = sinks.filter { $0 !== sink }
                return others.isEmpty ? nil : others
            }
        }
    }

    /// The kernel uses the peer's identity from now on.
    func rename(_ peer: BluetoothAddress, to identity: BluetoothAddress) {
        guard peer != identity else { return }
        state.withLock { state in
            if state.identities.count >= Self.maximumIdentities { state.forgetIdentities() }
            state.identities[peer] = identity
            if let sinks = state.keySinks.removeValue(forKey: peer) { state.keySinks[identity, default: []] += sinks }
            guard let sinks = state.sinks.removeValue(forKey: peer) else { return }
            state.sinks[identity, default: []] += sinks
        }
    }

    /// - Parameter end: why a link has ended; `nil`: it is made. The kernel names a new one by the private address only
    ///   if it knows no identity for that.
    private func note(_ end: ManagementDisconnectReason?, _ address: ManagementAddress) {
        guard let peer = address.lowEnergy else { return }
        state.withLock { state in
            if state.ends.count >= Self.maximumIdentities { state.ends = [:] }
            state.ends[peer] = end
            if end == nil { state.identities[peer] = nil }
        }
    }

    /// Why the last link to a peer ended, as the kernel summarises it; `nil` if one is up, or no reason was given.
    func end(ofLinkTo peer: BluetoothAddress) -> ManagementDisconnectReason? {
        state.withLock { state in state.ends[peer] ?? state.identities[peer].flatMap { state.ends[$0] } }
    }

    /// Private addresses change every quarter of an hour: older ones are useless.
    fileprivate static let maximumIdentities = 64

    /// The identity that a peer sent recently; `nil` if it sent none.
    func identity(of peer: BluetoothAddress) -> BluetoothAddress? { state.withLock { $0.identities[peer] } }

    func failed(_ peer: BluetoothAddress, _ status: ManagementStatus) {
        let (sinks, isOwn) = state.withLock { state in
            let identities = state.identities
            let isOwn = state.engaged.keys.contains { $0 == peer || identities[$0] == peer }
            return (state.sinks[peer] ?? [], isOwn)
        }
        let error: BLEError? = isOwn ? nil : BLEError.wishToEncryptFailed(peer, status)
        for sink in sinks { sink.send(error) }
    }
}

extension BLEError {
    fileprivate static func wishToEncryptFailed(_ peer: BluetoothAddress, _ status: ManagementStatus) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "encrypt link",
            object: "with \(peer)",
            cause: "the other device requested pairing or encryption, which failed (\(status)); "
                + "the link stays as it was",
            remedy: "Pair the two devices; if only one of them still has the bond, remove it there first."
        )
    }
}
