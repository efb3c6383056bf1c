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
            for address in Self.addresses(of: facts) { try listen(at: address) }
        } catch {
            return fail(error)
        }
        sink.send(.started)
        // A listening socket is not told that its adapter is gone.
        let watch = radio.watch.observe { [weak self] info in self?.adapterChanged(info) }
        state.withLock { if !$0.isOver { $0.watch = watch } }
    }

    func cancel() {
        sink.close()
        end()
    }

    /// A connection is offered to the socket whose address has the kind of the adapter's own. A controller without a
    /// public address uses a static random one, which only the one who set it knows: then every adapter's is taken.
    static func addresses(of facts: AdapterFacts) -> [L2CAPAddress] {
        facts.hasNoPublicAddress
            ? [L2CAPAddress(anyAdapter: .random), L2CAPAddress(anyAdapter: .public)]
            : [L2CAPAddress(facts.address)]
    }

    private func claim(_ facts: AdapterFacts) throws(BLEError) {
        let name = facts.hasNoPublicAddress ? radio.adapter.name : "\(facts.address)"
        do throws(SystemError) {
            let claim = try AdapterClaim(of: name)
            state.withLock { if !$0.isOver { $0.claim = claim } }
        } catch .addressInUse {
            throw .alreadyServed(radio.adapter.name)
        } catch {
            // Without it nothing is lost but the word about a second one.
        }
    }

    private func listen(at address: L2CAPAddress) throws(BLEError) {
        do throws(SystemError) {
            let descriptor = try FileDescriptor.l2capSocket()
            try descriptor.bind(to: address)
            try descriptor.listen(backlog: 16)
            let socket = SharedDescriptor(descriptor)
            let acceptor = LinkAcceptor(socket, loop: radio.loop, timeline: radio.timeline) { [weak self] event in
                self?.received(event)
            }
            try acceptor.begin()
            let isOver = state.withLock { state in
                if !state.isOver { state.acceptors.append(acceptor) }
                return state.isOver
            }
            if isOver { acceptor.cancel() }
        } catch {
            throw .system(error, call: "listen", operation: "listen", object: radio.adapter.name)
        }
    }

    private func received(_ event: LinkAcceptor.Event) {
        switch event {
        case .accepted(let accepted): received(accepted)
        case .interrupted(let error): sink.send(.interrupted(.noRoomForLinks(error, radio.adapter.name)))
        case .failed(let error):
            // The kernel may close it because the adapter goes, which says more.
            fail(
                radio.adapter.isUp
                    ? .system(error, call: "accept", operation: "listen", object: radio.adapter.name)
                    : radio.adapter.whyUnusable(for: "listen", object: radio.adapter.name)
            )
        }
    }

    private func received(_ accepted: AcceptedSocket) {
        // Not a Low Energy device: nothing to talk about.
        guard let peer = accepted.peer else { return }
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
        if info.state != .poweredOn { fail(radio.adapter.whyUnusable(for: "listen", object: info.name)) }
    }

    private func fail(_ error: BLEError) {
        end()
        sink.finish(.failed(error))
    }

    private func end() {
        let (acceptors, watch, claim) = state.withLock { state in
            defer {
                state.isOver = true
                state.acceptors = []
                state.watch = nil
                state.claim = nil
            }
            return (state.acceptors, state.watch, state.claim)
        }
        watch?.cancel()
        for acceptor in acceptors { acceptor.cancel() }
        // Given up last: whoever comes next finds nobody listening.
        _ = claim
    }
}

extension BLEError {
    fileprivate static func alreadyServed(_ adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "listen",
            object: adapter,
            cause: "another peripheral is served on \(adapter) already, by this program or another one",
            remedy: "Offer all services with one LocalPeripheral, or run the other one on an adapter of its own."
        )
    }

    fileprivate static func noRoomForLinks(_ error: SystemError, _ adapter: String) -> BLEError {
        var failure = BLEError(
            .systemFailure,
            operation: "listen",
            object: adapter,
            cause: "a central that connects can't be let in: \(error); it is tried again each second",
            remedy:
                "Close files and sockets that the program doesn't need, or raise its limit (ulimit -n, LimitNOFILE=)."
        )
        failure.systemError = error.rawValue
        return failure
    }
}
