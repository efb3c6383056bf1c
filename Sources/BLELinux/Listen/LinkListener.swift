internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Accepts the links that centrals make to the adapter.
final class LinkListener: Sendable {
    private struct Listening {
        var socket: SharedDescriptor
        var registration: EventLoop.Registration
    }

    private struct State {
        var sockets: [Listening] = []
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

    private func listen(at address: L2CAPAddress) throws(BLEError) {
        do throws(SystemError) {
            let descriptor = try FileDescriptor.l2capSocket()
            try descriptor.bind(to: address)
            try descriptor.listen(backlog: 16)
            let socket = SharedDescriptor(descriptor)
            let registration = try radio.loop.register(socket.descriptor, for: .readable) { [weak self] _, _ in
                self?.accept(from: socket)
            }
            let isOver = state.withLock { state in
                if !state.isOver { state.sockets.append(Listening(socket: socket, registration: registration)) }
                return state.isOver
            }
            if isOver { radio.loop.unregister(registration, of: socket.descriptor) }
        } catch {
            throw .system(error, call: "listen", operation: "listen", object: radio.adapter.name)
        }
    }

    private func accept(from socket: SharedDescriptor) {
        while let accepted = try? socket.descriptor.accept() {
            // Not a Low Energy device: nothing to talk about.
            guard let peer = accepted.peer else { continue }
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
    }

    private func adapterChanged(_ info: AdapterInfo) {
        if info.state != .poweredOn { fail(radio.adapter.whyUnusable(for: "listen", object: info.name)) }
    }

    private func fail(_ error: BLEError) {
        end()
        sink.finish(.failed(error))
    }

    private func end() {
        let (sockets, watch) = state.withLock { state in
            defer {
                state.isOver = true
                state.sockets = []
                state.watch = nil
            }
            return (state.sockets, state.watch)
        }
        watch?.cancel()
        for listening in sockets {
            radio.loop.unregister(listening.registration, of: listening.socket.descriptor)
        }
    }
}
