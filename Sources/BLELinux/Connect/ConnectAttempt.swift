internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One attempt to connect: from the creation of its socket to the link, the error, or the cancellation.
///
/// The kernel listens for the peer and connects when it receives its advertisement; attempts to several peers wait at
/// the same time. There is no time limit: the kernel's own limit of 40 seconds is removed, and if the kernel gives up
/// on a peer that it received but that did not answer in time, it is asked again.
final class ConnectAttempt: Sendable {
    typealias Result = @Sendable (Swift.Result<any ATTLink, BLEError>) -> Void

    private struct State {
        /// The caller that waits; `nil` once it has the result, or has given up.
        var result: Result?
        var socket: SharedDescriptor?
        var registration: EventLoop.Registration?
        /// How often it has ended in a way that may pass, and when it did last.
        var resets = 0
        var lastReset = Duration.zero
        /// How often the peer was received, but did not answer.
        var silences = 0
        /// What the adapter is asked to do while the peer is awaited.
        var presence: RadioActivity?
        var began = Duration.zero
        /// Whether a link that an earlier program has left was ended.
        var hasEndedFormer = false
        /// How often the adapter had been removed when it was begun first.
        var removals: Int?
    }

    /// How often an attempt is repeated that ended in one of these ways before the link was up. When the kernel cleans
    /// up a connection to the same peer that any program dropped or cancelled a moment ago, the next one fails with it.
    /// The controller is busy while it makes another program's connection.
    private static let maximumResets = 2
    /// After how long the repetitions are counted anew: an attempt may wait for months, and where the machine is
    /// suspended, the kernel ends it each time. Source: kernel, `net/bluetooth/hci_sync.c`, `hci_suspend_sync`.
    private static let calm = Duration.seconds(60)
    private static let mayPass: [SystemError] = [
        .connectionReset, .connectionAborted, .connectionRefused, .busy, .notConnected,
    ]
    /// The shortest time after which such an end means that the kernel has waited for the peer's answer.
    private static let shortestSilence = Duration.seconds(1)
    /// Linux before 5.17 then cancels its request, and hands on the controller's word for that, Unknown Connection
    /// Identifier, as `ENOTCONN`. Source: kernel, `net/bluetooth/hci_conn.c`, `le_conn_timeout`, `hci_le_conn_failed`.
    private static let silent: [SystemError] = [.timedOut, .hostDown, .notConnected]

    private let peer: BluetoothAddress
    private let adapter: LinuxAdapter
    private let peers: ConnectingPeers
    private let settling: SettlingPeers
    private let forgotten: ForgottenLinks
    private let stuck: StuckAttempts
    private let excludedRoles: ExcludedRoles
    private let loop: EventLoop
    private let environment: any LinkEnvironment
    /// Called right before each socket connects; the returned closure is called right afterwards.
    private let prepare: @Sendable () -> () -> Void
    private let state: Mutex<State>

    init(
        to peer: BluetoothAddress,
        from adapter: LinuxAdapter,
        peers: ConnectingPeers,
        settling: SettlingPeers,
        forgotten: ForgottenLinks,
        stuck: StuckAttempts,
        excludedRoles: ExcludedRoles,
        loop: EventLoop,
        environment: any LinkEnvironment,
        prepare: @escaping @Sendable () -> () -> Void,
        result: @escaping Result
    ) {
        self.peer = peer
        self.adapter = adapter
        self.peers = peers
        self.settling = settling
        self.forgotten = forgotten
        self.stuck = stuck
        self.excludedRoles = excludedRoles
        self.loop = loop
        self.environment = environment
        self.prepare = prepare
        state = Mutex(State(result: result))
    }

    /// Starts, on the loop's thread.
    func begin() {
        guard state.withLock({ $0.result != nil }) else { return }
        do throws(BLEError) {
            let facts = try adapter.linkable(for: "connect", object: peer.description)
            try checkIsSameAdapter()
            try connect(from: facts)
        } catch {
            finish(.failure(error))
        }
    }

    /// An adapter that was plugged in, or reset, since this attempt began first has neither the keys nor anything else
    /// that the program had loaded for it: the kernel might pair anew with a bonded peer.
    private func checkIsSameAdapter() throws(BLEError) {
        let removals = adapter.seenRemovals
        let isSame = state.withLock { state in
            let first = state.removals ?? removals
            state.removals = first
            return first == removals
        }
        if !isSame { throw adapter.whyUnusable(for: "connect", object: peer.description, told: .absent) }
    }

    /// Ends the attempt without a result. The kernel stops listening for the peer when the socket is closed.
    func cancel() {
        let (socket, registration, presence, result) = state.withLock { state in
            defer { state = State() }
            return (state.socket, state.registration, state.presence, state.result)
        }
        presence?.cancel()
        if let socket, let registration {
            giveBack()
            loop.unregister(registration, of: socket.descriptor)
        }
        // Released outside the lock: what it holds may be deallocated with it.
        _ = result
    }

    /// Whether the kernel waits for the peer.
    var isUnderWay: Bool { state.withLock { $0.registration != nil } }

    /// Withdraws the request to the kernel, so that the attempt can begin again. Returns whether the kernel was waiting
    /// for the peer.
    func takeBack() -> Bool {
        let (socket, registration) = state.withLock { ($0.socket.take(), $0.registration.take()) }
        guard let socket, let registration else { return false }
        giveBack()
        loop.unregister(registration, of: socket.descriptor)
        return true
    }

    private func connect(from facts: AdapterFacts) throws(BLEError) {
        let socket: SharedDescriptor
        let isConnected: Bool
        waits()
        stuck.forgetWhatIsGone()
        // An immediate connection proves nothing: on a busy machine it may have been made during the call.
        let hadConnection = adapter.isConnected(to: peer)
        do throws(SystemError) {
            let descriptor = try FileDescriptor.l2capSocket(of: adapter.kernel)
            // This very adapter: "any" would be the one that was plugged in last.
            let source = facts.hasNoPublicAddress ? L2CAPAddress(anyAdapter: .public) : L2CAPAddress(facts.address)
            try descriptor.bind(to: source)
            try descriptor.removeConnectTimeout()
            descriptor.prepareForLink()
            let finish = prepare()
            defer { finish() }
            isConnected = try descriptor.connect(to: L2CAPAddress(peer))
            socket = SharedDescriptor(descriptor)
        } catch {
            throw ConnectFailure(adapter: adapter, peer: peer).error(atOnce: error)
        }
        if facts.hasNoPublicAddress, let other = adapter.substitute(for: facts, on: socket) {
            giveBack()
            throw .adapterIsPassedOver(adapter.name, other, operation: "connect", object: peer.description)
        }
        if isConnected {
            // If the kernel has kept an earlier connection, it is up immediately.
            if hadConnection == true, endFormer() { return }
            succeed(with: socket, isResumed: hadConnection ?? true)
        } else {
            try wait(for: socket)
        }
    }

    /// Ends a link that an earlier program has left, once, and then begins again; `false` if it is to be taken over.
    ///
    /// What that program has asked, prepared, subscribed to or begun to send is over with its link. No program has the
    /// link's attribute channel: this socket would have been refused. It is closed before the link ends. Without the
    /// capability the link stays, and the next try takes it over. A link that the peer made was left by nobody; and
    /// where a central is in the way of a new one, the one that is there is better than none. Nor is one ended on
    /// kernels that may kill the thread which closes the socket of a lost link: they answer before they have cleaned
    /// up, and an attempt right behind the answer fails with the link, as does its socket.
    private func endFormer() -> Bool {
        guard adapter.peers(asCentral: true).contains(where: { $0.rawValue == peer.rawValue }),
            excludedRoles.connectObstacle == nil,
            !KernelFaults.killsWhoClosesDeadSockets(of: adapter.kernel)
        else { return false }
        let isFirst = state.withLock { state in
            guard state.result != nil, !state.hasEndedFormer else { return false }
            state.hasEndedFormer = true
            return true
        }
        guard isFirst else { return false }
        // Not before the answer, and no other attempt either if this one is given up: the command may wait in line, and
        // would end the next link.
        settling.hold(peer)
        loop.enqueue { [self] in
            environment.drop(peer) { [self] _ in
                settling.settle(peer)
                loop.enqueue { [self] in begin() }
            }
        }
        return true
    }

    private func wait(for socket: SharedDescriptor) throws(BLEError) {
        let (isWaiting, failure) = state.withLock { state -> (Bool, SystemError?) in
            // Cancelled meanwhile.
            guard state.result != nil else { return (false, nil) }
            do throws(SystemError) {
                state.registration = try loop.register(socket.descriptor, for: .writable) { [weak self] readiness, _ in
                    self?.socketIsReady(readiness)
                }
                state.socket = socket
                return (true, nil)
            } catch {
                return (false, error)
            }
        }
        if !isWaiting { giveBack() }
        if let failure { throw .system(failure, call: "epoll_ctl", operation: "connect", object: peer.description) }
        if isWaiting { peers.interruptDiscovery() }
    }

    /// The kernel was asked to connect, and the socket is about to be closed before it has been told of a link.
    private func giveBack() {
        settling.noteCancellation(of: peer)
        stuck.gaveUp(peer)
        forgotten.noteVainAttempt()
    }

    /// The attempt waits for the peer from now on.
    private func waits() {
        let presence = peers.begin(failures: state.withLock { $0.silences })
        let now = environment.timeline.now
        let superfluous = state.withLock { state in
            // Cancelled meanwhile, or of the previous try.
            defer { if state.result != nil { (state.presence, state.began) = (presence, now) } }
            return state.result == nil ? presence : state.presence
        }
        superfluous?.cancel()
    }

    private func socketIsReady(_ readiness: Readiness) {
        let (socket, registration) = state.withLock { ($0.socket.take(), $0.registration.take()) }
        guard let socket, let registration else { return }
        loop.unregister(registration, of: socket.descriptor)
        stuck.ended(peer)
        // Being writable proves nothing; the socket's error decides.
        guard let error = socket.descriptor.takeError() ?? (readiness.isEnd ? .connectionReset : nil) else {
            return succeed(with: socket, isResumed: false)
        }
        socket.descriptor.noteDeath()
        forgotten.noteVainAttempt()
        if adapter.isUp, mayTryAgain(after: error) {
            begin()
        } else {
            finish(.failure(ConnectFailure(adapter: adapter, peer: peer).error(later: error)))
        }
    }

    private func mayTryAgain(after error: SystemError) -> Bool {
        let now = environment.timeline.now
        return state.withLock { state in
            if Self.silent.contains(error), now - state.began >= Self.shortestSilence {
                state.silences += 1
                state.resets = 0
                return true
            }
            guard Self.mayPass.contains(error) else { return false }
            if now - state.lastReset >= Self.calm { state.resets = 0 }
            state.resets += 1
            state.lastReset = now
            return state.resets <= Self.maximumResets
        }
    }

    private func succeed(with socket: SharedDescriptor, isResumed: Bool) {
        let local = (try? socket.descriptor.localAddress())?.device
        let link = SocketLink(
            socket,
            peer: peer,
            local: local,
            isResumed: isResumed,
            loop: loop,
            environment: environment
        )
        if !finish(.success(link)) { link.disconnect() }
    }

    /// Reports the result, once; `false` if nobody waits for it any more.
    @discardableResult
    private func finish(_ outcome: Swift.Result<any ATTLink, BLEError>) -> Bool {
        let (result, presence) = state.withLock { state in
            defer { (state.result, state.presence) = (nil, nil) }
            return (state.result, state.presence)
        }
        presence?.cancel()
        result?(outcome)
        return result != nil
    }
}

extension LinuxAdapter {
    /// The name of the adapter through which the kernel connects in place of this one, which has no public address to
    /// be found by; `nil` if it is this one, or can't be known.
    ///
    /// - Parameter socket: which was told to connect, and has the address of its adapter then.
    fileprivate func substitute(for facts: AdapterFacts, on socket: SharedDescriptor) -> String? {
        guard let taken = (try? socket.descriptor.localAddress())?.device, taken.rawValue != 0,
            let all = try? FileDescriptor.hciSocket(of: kernel).adapters()
        else { return nil }
        let other = all.first { $0.number != facts.number && $0.address.rawValue == taken.rawValue }
        return other.map { "hci\($0.number)" }
    }
}

extension FileDescriptor {
    /// The options of every link's socket: room for bursts, the kernel's times, its count of losses.
    func prepareForLink() {
        enlargeReceiveQueue(to: 16 << 20)
        askForReceptionFacts()
    }
}
