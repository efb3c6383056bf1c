internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Notices attempts to connect that this program has given up and the kernel keeps.
///
/// Linux 6.12 keeps one that is given up just when its peer is heard, while the command to connect waits behind another
/// one: it takes the command out of its queue, and nothing cleans up the rest. When it hears the peer again, it
/// connects, but throws the link away, and from then on it makes no connection to any peer until the adapter is
/// switched off and on. Closing sockets doesn't help, and no event reports it; the kernel's list of connections shows
/// it. Source: kernel, `net/bluetooth/hci_conn.c`, `hci_abort_conn`, `hci_connect_le`.
///
/// What is listed may also be another attempt, of this or another program. The kernel lets no second socket wait for
/// the same peer: where it lets one, the attempt is nobody's. bluetoothd has the kernel connect and pair without a
/// socket, so it must be nobody's for longer than that lasts. A controller without a public address is left out, since
/// no socket can be tied to it for certain.
///
/// This requires no capability.
final class StuckAttempts: Sendable {
    private struct Suspicion {
        let peer: BluetoothAddress
        /// The next look.
        var timer: RadioActivity?
        /// When the attempt was first seen to be nobody's.
        var seen: Duration?
        /// When a symptom was last told of it; `nil` before it is confirmed.
        var told: Duration?
        /// Follows the adapter's power since it was seen.
        var power: RadioActivity?

        var isConfirmed: Bool { told != nil }

        func cancel() {
            timer?.cancel()
            power?.cancel()
        }
    }

    /// How long after the end of an attempt the kernel is asked for the first time: it has cleaned up in some
    /// milliseconds, and ``SettlingPeers`` still holds back the program's next attempt to the same peer.
    private static let patience = Duration.milliseconds(400)
    /// How long it must have been nobody's. For a peer that it has heard, the kernel waits some seconds; for one that
    /// doesn't advertise and that it is to pair with, until bluetoothd gives up after two minutes. Source: BlueZ,
    /// `src/adapter.c`, `BONDING_TIMEOUT`.
    static let proof = Duration.seconds(130)
    /// After how long it is told of again, once another attempt has been in vain: a recovery may have been busy.
    private static let reminder = Duration.seconds(600)

    private let adapter: LinuxAdapter
    private let watch: AdapterWatch
    private let settling: SettlingPeers
    private let loop: EventLoop
    private let timeline: any Timeline
    /// Tells of a symptom, on the loop's thread.
    private let tell: @Sendable (AdapterInfo.Symptom) -> Void
    /// By the octets of the peers' addresses: the kernel doesn't list their kinds.
    private let state = Mutex<[UInt64: Suspicion]>([:])

    init(
        _ adapter: LinuxAdapter,
        watch: AdapterWatch,
        settling: SettlingPeers,
        loop: EventLoop,
        timeline: any Timeline,
        tell: @escaping @Sendable (AdapterInfo.Symptom) -> Void
    ) {
        self.adapter = adapter
        self.watch = watch
        self.settling = settling
        self.loop = loop
        self.timeline = timeline
        self.tell = tell
    }

    /// Why the adapter may make no connection; `nil` if the kernel keeps no attempt, as far as is known.
    var obstacle: BLEError? {
        guard state.withLock({ $0.values.contains { $0.isConfirmed } }) else { return nil }
        forgetWhatIsGone()
        let kept = state.withLock { state in
            state.values.filter(\.isConfirmed).map(\.peer).min { $0.rawValue < $1.rawValue }
        }
        return kept.map { .keepsAttempt(adapter.name, to: $0) }
    }

    /// This program has given up an attempt to connect to the peer, and is about to close its socket.
    func gaveUp(_ peer: BluetoothAddress) { look(for: peer, after: Self.patience) }

    /// The kernel has itself ended an attempt of this program to the peer, or all with the power: it keeps none.
    func ended(_ peer: BluetoothAddress) {
        let former = state.withLock { $0.removeValue(forKey: peer.rawValue) }
        former?.cancel()
    }

    /// Forgets the attempts that the kernel no longer lists. What it lists after an attempt of this program has begun
    /// may be that one: this is called before it begins.
    func forgetWhatIsGone() {
        guard state.withLock({ !$0.isEmpty }) else { return }
        let listed = Set(adapter.attempts.map(\.rawValue))
        let gone = state.withLock { state in
            let gone = state.filter { !listed.contains($0.key) }
            for octets in gone.keys { state[octets] = nil }
            return gone
        }
        for suspicion in gone.values { suspicion.cancel() }
    }

    private func look(for peer: BluetoothAddress, after delay: Duration) {
        let timer = timeline.schedule(after: delay) { [weak self] in
            guard let self else { return }
            loop.enqueue { [weak self] in self?.look(for: peer) }
        }
        let former = state.withLock { state in
            defer { state[peer.rawValue, default: Suspicion(peer: peer)].timer = timer }
            return state[peer.rawValue]?.timer
        }
        former?.cancel()
    }

    /// If the attempt is somebody's now, nothing is known: of this program's own, the end brings the next look.
    private func look(for peer: BluetoothAddress) {
        forgetWhatIsGone()
        remind()
        guard let suspicion = state.withLock({ $0[peer.rawValue] }), !suspicion.isConfirmed, isNobodys(peer) else {
            return
        }
        let now = timeline.now
        let seen = suspicion.seen ?? now
        let isProven = now - seen >= Self.proof
        if suspicion.seen == nil { followPower(for: peer) }
        state.withLock { state in
            state[peer.rawValue]?.seen = seen
            if isProven { state[peer.rawValue]?.told = now }
        }
        if isProven { tell(.keepsAttempt(peer)) } else { look(for: peer, after: seen + Self.proof - now) }
    }

    /// No attempt outlasts the power. The list doesn't show that where another program waits for the same peer by then.
    private func followPower(for peer: BluetoothAddress) {
        let power = watch.observe { [weak self] info in
            if info.state != .poweredOn { self?.ended(peer) }
        }
        let isOver = state.withLock { state in
            state[peer.rawValue]?.power = power
            return state[peer.rawValue] == nil
        }
        if isOver { power.cancel() }
    }

    private func remind() {
        let now = timeline.now
        let due = state.withLock { state -> BluetoothAddress? in
            let due = state.values.first { suspicion in
                suspicion.told.map { now - $0 >= Self.reminder } ?? false
            }
            guard let peer = due?.peer else { return nil }
            state[peer.rawValue]?.told = now
            return peer
        }
        if let due { tell(.keepsAttempt(due)) }
    }

    /// Whether no socket waits for the peer, or for one with the other kind of the address: the kernel then lets one of
    /// this program do so, which is closed at once.
    ///
    /// Linux 6.1, which cleans up otherwise, isn't asked: it may kill the thread that closes a socket just when its
    /// connection ends.
    private func isNobodys(_ peer: BluetoothAddress) -> Bool {
        guard !KernelFaults.killsWhoClosesDeadSockets(of: adapter.kernel) else { return false }
        guard let facts = try? adapter.linkable(for: "connect", object: peer.description), !facts.hasNoPublicAddress
        else { return false }
        settling.noteCancellation(of: peer)
        // The list doesn't say which of the two is awaited.
        let other = BluetoothAddress(rawValue: peer.rawValue, kind: peer.kind == .public ? .random : .public)
        return mayWait(for: peer, at: facts.address) && mayWait(for: other, at: facts.address)
    }

    private func mayWait(for peer: BluetoothAddress, at address: BluetoothAddress) -> Bool {
        do throws(SystemError) {
            let socket = try FileDescriptor.l2capSocket(of: adapter.kernel)
            try socket.bind(to: L2CAPAddress(address))
            let isConnected = try socket.connect(to: L2CAPAddress(peer))
            return !isConnected
        } catch {
            return false
        }
    }
}

extension BLEError {
    /// The kernel keeps an attempt to connect that was given up, until the adapter is switched off and on.
    fileprivate static func keepsAttempt(_ adapter: String, to peer: BluetoothAddress) -> BLEError {
        BLEError(
            .busy,
            operation: "connect",
            object: "from \(adapter)",
            cause: "the kernel keeps an attempt of \(adapter) to connect to \(peer) that was given up, which can keep "
                + "\(adapter) from connecting to any device",
            remedy: "Switch the adapter off and on, which ends all of its links, with `Central.powerCycle()`, or let a "
                + "`RecoveryPlan` do it."
        )
    }
}
