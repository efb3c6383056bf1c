internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Accepts the links that centrals make to the adapter.
final class LinkListener: Sendable {
    private struct State {
        /// Keeps other peripherals off the adapter.
        var claim: AdapterClaim?
        var acceptors: [LinkAcceptor] = []
        var watch: RadioActivity?
        var place = ListeningPlace()
        /// The kernel's events about other programs; none without the permission for them.
        var observation: RadioActivity?
        var timers: [Int: RadioActivity] = [:]
        var isOver = false
    }

    private let radio: LinuxRadio
    private let sink: EventSink<ListenEvent>
    private let state = Mutex(State())

    init(on radio: LinuxRadio, sink: EventSink<ListenEvent>) {
        self.radio = radio
        self.sink = sink
    }

    /// Starts, on the loop's thread.
    func begin() {
        do throws(BLEError) {
            let facts = try radio.adapter.usable(for: "listen", object: radio.adapter.name)
            try claim(facts)
            try listen(at: Self.address(of: facts))
        } catch {
            return fail(error)
        }
        sink.send(.started)
        let observation = radio.management?.observe(
            { [weak self] events in
                for event in events { self?.received(event.event) }
            },
            lost: { [weak self] _ in self?.perform { $0.missedEvents() } }
        )
        state.withLock { if !$0.isOver { $0.observation = observation } }
        // A listening socket doesn't show that its adapter is gone.
        let watch = radio.watch.observe { [weak self] info in self?.adapterChanged(info) }
        state.withLock { if !$0.isOver { $0.watch = watch } }
    }

    func cancel() {
        sink.close()
        end()
    }

    /// A connection is offered to the socket whose address has the kind of the adapter's own. A controller without a
    /// public address uses a static random one, known only to the program that set it: then the socket listens on any
    /// adapter that has one. On any with a public address, it would take the centrals of all others. Source: kernel,
    /// `l2cap_global_fixed_chan`, `hci_copy_identity_address`.
    static func address(of facts: AdapterFacts) -> L2CAPAddress {
        facts.hasNoPublicAddress ? L2CAPAddress(anyAdapter: .random) : L2CAPAddress(facts.address)
    }

    private func claim(_ facts: AdapterFacts) throws(BLEError) {
        let name = facts.hasNoPublicAddress ? radio.adapter.name : "\(facts.address)"
        do throws(SystemError) {
            let claim = try AdapterClaim(of: name, on: radio.adapter.kernel)
            state.withLock { if !$0.isOver { $0.claim = claim } }
        } catch .addressInUse {
            throw .alreadyServed(radio.adapter.name)
        } catch {
            // Without the claim, only the error for a second listener is lost.
        }
    }

    private func listen(at address: L2CAPAddress) throws(BLEError) {
        do throws(SystemError) {
            let descriptor = try FileDescriptor.l2capSocket(of: radio.adapter.kernel)
            try descriptor.bind(to: address)
            try descriptor.listen(backlog: 16)
            let socket = SharedDescriptor(descriptor)
            let acceptor = LinkAcceptor(socket, loop: radio.loop, timeline: radio.timeline) { [weak self] event in
                self?.received(event)
            }
            try acceptor.begin()
            keep(acceptor)
        } catch {
            throw .system(error, call: "listen", operation: "listen", object: radio.adapter.name)
        }
    }

    private func keep(_ acceptor: LinkAcceptor) {
        let isOver = state.withLock { state in
            if !state.isOver { state.acceptors.append(acceptor) }
            return state.isOver
        }
        if isOver { acceptor.cancel() }
    }

    private func received(_ event: LinkAcceptor.Event) {
        switch event {
        case .accepted(let accepted): received(accepted)
        case .interrupted(let error): sink.send(.interrupted(.noRoomForLinks(error, radio.adapter.name)))
        case .failed(let error):
            // The kernel may close it because the adapter goes away, which is the better reason.
            fail(
                radio.adapter.isUp
                    ? .system(error, call: "accept", operation: "listen", object: radio.adapter.name)
                    : radio.adapter.whyUnusable(for: "listen", object: radio.adapter.name)
            )
        }
    }

    private func received(_ accepted: AcceptedSocket) {
        // Not a Low Energy device.
        guard let peer = accepted.peer else { return }
        state.withLock { $0.place.accepted(peer) }
        accepted.socket.descriptor.prepareForLink()
        let local = (try? accepted.socket.descriptor.localAddress())?.device
        let link = SocketLink(
            accepted.socket,
            peer: peer,
            local: local,
            isResumed: false,
            loop: radio.loop,
            environment: radio
        )
        sink.send(.accepted(link))
    }

    private func adapterChanged(_ info: AdapterInfo) {
        guard info.state != .poweredOn else { return }
        fail(radio.adapter.whyUnusable(for: "listen", object: info.name, told: info.state))
    }

    private func fail(_ error: BLEError) {
        end()
        sink.finish(.failed(error))
    }

    private func end() {
        let (acceptors, activities, claim) = state.withLock { state in
            defer {
                state.isOver = true
                state.acceptors = []
                state.watch = nil
                state.observation = nil
                state.timers = [:]
                state.claim = nil
            }
            let activities = [state.watch, state.observation].compactMap(\.self) + Array(state.timers.values)
            return (state.acceptors, activities, state.claim)
        }
        for activity in activities { activity.cancel() }
        for acceptor in acceptors { acceptor.cancel() }
        // Released last, so that the next program finds no listening socket.
        _ = claim
    }
}

// MARK: - Other programs that listen

extension LinkListener {
    private func received(_ event: ManagementEvent) {
        switch event {
        case .deviceConnected(let connected) where !radio.adapter.hasMade(connected):
            if let central = connected.address.lowEnergy { perform { $0.centralCame(central) } }
        case .deviceDisconnected(let address, _):
            if let central = address.lowEnergy { state.withLock { $0.place.centralLeft(central) } }
        // The kernel doesn't send a program the events of its own changes.
        case .newSettings(let settings) where settings.contains(.powered): perform { $0.othersActed() }
        case .advertisingRemoved where radio.adapter.isUp: perform { $0.othersActed() }
        default: break
        }
    }

    private func perform(_ input: (inout ListeningPlace) -> ListeningPlace.Output) {
        let output = state.withLock { $0.isOver ? ListeningPlace.Output() : input(&$0.place) }
        if let next = output.timer {
            let timer = radio.timeline.schedule(after: next.delay) { [weak self] in
                guard let self else { return }
                self.radio.loop.enqueue { self.timerFired(next.id) }
            }
            state.withLock { if !$0.isOver { $0.timers[next.id] = timer } }
        }
        if output.renews { renew() }
        if let central = output.lost { sink.send(.interrupted(.taken(central, radio.adapter))) }
    }

    private func timerFired(_ id: Int) {
        _ = state.withLock { $0.timers.removeValue(forKey: id) }
        let isInterrupted = state.withLock { $0.acceptors }.contains { $0.isInterrupted }
        perform { $0.timerFired(id, whileInterrupted: isInterrupted) }
    }

    /// Listens again with a new socket instead of the old one; connections waiting there are accepted. An old one where
    /// some can't be accepted for now stays: the new one may have taken the descriptor that was free.
    private func renew() {
        let former = state.withLock { state in
            defer { state.acceptors = [] }
            return state.acceptors
        }
        do throws(BLEError) {
            let facts = try radio.adapter.usable(for: "listen", object: radio.adapter.name)
            try listen(at: Self.address(of: facts))
        } catch {
            // The old sockets are better than none; an adapter that goes away is reported elsewhere.
            for acceptor in former { keep(acceptor) }
            return
        }
        for acceptor in former where !acceptor.retire() { keep(acceptor) }
    }
}

extension BLEError {
    /// The error for a central that another program has accepted.
    fileprivate static func taken(_ central: BluetoothAddress, _ adapter: LinuxAdapter) -> BLEError {
        let bluetoothd = Bluetoothd.presenceByProcesses(on: adapter.kernel)
        let holder = bluetoothd == .here ? "bluetoothd" : "another program"
        return BLEError(
            .busy,
            operation: "listen",
            object: adapter.name,
            cause: "the central \(central) was given to \(holder), which began to listen later; "
                + "the next ones come to this program again",
            remedy: bluetoothd != .absent
                ? "Connect again from the central, or drop its link: \"bluetoothctl disconnect \(central)\"."
                : "Connect again from the central."
        )
    }

    fileprivate static func alreadyServed(_ adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "listen",
            object: adapter,
            cause: "another peripheral is already served on \(adapter), by this program or another one",
            remedy: "Offer all services with one LocalPeripheral, or run the other one on another adapter."
        )
    }

    fileprivate static func noRoomForLinks(_ error: SystemError, _ adapter: String) -> BLEError {
        var failure = BLEError(
            .systemFailure,
            operation: "listen",
            object: adapter,
            cause: "a connecting central can't be accepted: \(error); it is tried again every second",
            remedy: error.remedy
        )
        failure.systemError = error.rawValue
        return failure
    }
}
