internal import BLERadio
internal import Synchronization

/// A private connection to a D-Bus, on an event loop: calls and their answers, and calls from other programs.
///
/// libdbus speaks the protocol, and never waits here: it says what to watch its socket for, and the loop reports that
/// to it. Opening, which may block, happens on its own thread. After that, all calls into the library are made on the
/// loop's thread.
final class BusConnection: Sendable {
    typealias Answer = @Sendable (Result<BusMessage, BusFailure>) -> Void
    /// Answers a call or signal of another program; `nil` for no answer. On the loop's thread.
    typealias Receiver = @Sendable (BusMessage) -> BusMessage?

    private struct State {
        /// The `DBusConnection *` as a number, which may cross threads; zero once it is closed.
        var connection: UInt
        var registration: EventLoop.Registration?
        var interest: Readiness = []
        var calls: [UInt32: (answer: Answer, deadline: RadioActivity)] = [:]
    }

    private let library: LibDBus
    private let loop: EventLoop
    private let timeline: any Timeline
    private let received: Receiver
    private let ended: @Sendable () -> Void
    private let watches: BusWatches
    /// A duplicate of the library's socket, which the library closes when it likes.
    private let socket: SharedDescriptor
    private let state: Mutex<State>

    /// Opens a connection and says hello to the bus; the closure is called once, on the loop's thread.
    ///
    /// - Parameters:
    ///   - deadline: how long it may take to reach the bus and get its hello.
    ///   - ended: called, on the loop's thread, when the bus has ended the connection.
    static func open(
        _ bus: SystemBus,
        on loop: EventLoop,
        timeline: any Timeline,
        deadline: Duration,
        received: @escaping Receiver,
        ended: @escaping @Sendable () -> Void,
        opened: @escaping @Sendable (Result<BusConnection, BusFailure>) -> Void
    ) {
        let reply = EventSink(opened)
        let timer = timeline.schedule(after: deadline) { loop.enqueue { reply.finish(.failure(.timedOut)) } }
        @Sendable func finish(_ result: Result<BusConnection, BusFailure>) {
            timer.cancel()
            if reply.isOpen { reply.finish(result) } else { (try? result.get())?.close() }
        }
        guard beginWaiting(for: bus) else { return loop.enqueue { finish(.failure(.timedOut)) } }
        do throws(SystemError) {
            try startThread(named: "ble-bus") {
                let connection = connect(to: bus)
                endWaiting(for: bus)
                loop.enqueue {
                    do throws(BusFailure) {
                        let (library, number) = try connection.get()
                        let bus = try BusConnection(
                            library,
                            number,
                            loop: loop,
                            timeline: timeline,
                            received: received,
                            ended: ended
                        )
                        bus.call(.busCall("Hello"), deadline: deadline) { finish($0.map { _ in bus }) }
                    } catch {
                        finish(.failure(error))
                    }
                }
            }
        } catch {
            endWaiting(for: bus)
            loop.enqueue { finish(.failure(.unreachable("\(error)"))) }
        }
    }

    /// How many threads may wait for a bus to take a connection: one that is stopped takes none, and is tried again and
    /// again for as long as it is.
    static let mostWaiting = 32

    /// How many do.
    private static let waiting = Mutex<[SystemBus: Int]>([:])

    private static func beginWaiting(for bus: SystemBus) -> Bool {
        waiting.withLock { waiting in
            guard waiting[bus, default: 0] < mostWaiting else { return false }
            waiting[bus, default: 0] += 1
            return true
        }
    }

    private static func endWaiting(for bus: SystemBus) {
        waiting.withLock { waiting in
            let rest = waiting[bus, default: 1] - 1
            waiting[bus] = rest > 0 ? rest : nil
        }
    }

    private static func connect(to bus: SystemBus) -> Result<(LibDBus, UInt), BusFailure> {
        guard let library = LibDBus.shared else { return .failure(.noLibrary) }
        return library.withError { library.connections.open(bus.address, $0) }
            .map { connection in
                library.connections.setExitOnDisconnect(connection, 0)
                return (library, UInt(bitPattern: connection))
            }
    }

    private init(
        _ library: LibDBus,
        _ number: UInt,
        loop: EventLoop,
        timeline: any Timeline,
        received: @escaping Receiver,
        ended: @escaping @Sendable () -> Void
    ) throws(BusFailure) {
        guard let connection = OpaquePointer(bitPattern: number) else { throw .closed }
        var descriptor: Int32 = -1
        guard library.connections.getDescriptor(connection, &descriptor) != 0,
            let socket = try? FileDescriptor.duplicate(of: descriptor)
        else {
            library.connections.close(connection)
            library.connections.release(connection)
            throw .unreachable("its socket can't be had")
        }
        self.library = library
        self.loop = loop
        self.timeline = timeline
        self.received = received
        self.ended = ended
        self.socket = SharedDescriptor(socket)
        watches = BusWatches(library)
        state = Mutex(State(connection: number))
        guard watches.attach(to: connection) else { throw .unreachable("no memory") }
        updateInterest()
    }

    deinit { closeNow() }

    private var connection: OpaquePointer? { OpaquePointer(bitPattern: state.withLock { $0.connection }) }

    /// Calls an object of another program, on the loop's thread; the closure is called there once, unless the
    /// connection is closed first.
    func call(_ message: BusMessage, deadline: Duration, answer: @escaping Answer) {
        guard let serial = write(message) else { return loop.enqueue { answer(.failure(.closed)) } }
        let timer = timeline.schedule(after: deadline) { [weak self, loop] in
            loop.enqueue { [weak self] in self?.answered(serial, .failure(.timedOut)) }
        }
        state.withLock { $0.calls[serial] = (answer, timer) }
        updateInterest()
    }

    /// Sends a message that gets no answer, on the loop's thread.
    func send(_ message: BusMessage) {
        _ = write(message)
        updateInterest()
    }

    /// Ends the connection, after what was sent before on the loop's thread. No closure is called afterwards.
    func close() { loop.enqueue { self.closeNow() } }
}

// MARK: - On the loop's thread

extension BusConnection {
    private func write(_ message: BusMessage) -> UInt32? {
        guard let connection else { return nil }
        return library.messages.withObject(of: message) { object in
            var serial: UInt32 = 0
            return library.connections.send(connection, object, &serial) != 0 ? serial : nil
        }
    }

    /// Watches the socket for what the library is waiting for now.
    private func updateInterest() {
        let interest = connection == nil ? [] : watches.interest
        let (before, registration) = state.withLock { state in
            defer { state.interest = interest }
            return (state.interest, state.registration)
        }
        guard interest != before else { return }
        if let registration {
            try? loop.change(registration, of: socket.descriptor, to: interest)
        } else if !interest.isEmpty {
            let registration = try? loop.register(socket.descriptor, for: interest) { [weak self] readiness, _ in
                self?.socketIsReady(readiness)
            }
            state.withLock { $0.registration = registration }
        }
    }

    private func socketIsReady(_ readiness: Readiness) {
        watches.handle(readiness)
        while let connection, let object = library.connections.pop(connection) {
            let message = library.messages.value(of: object)
            library.messages.free(object)
            handle(message)
        }
        updateInterest()
    }

    private func handle(_ message: BusMessage) {
        switch message.kind {
        case .reply: answered(message.replySerial, .success(message))
        case .failure:
            var text = ""
            if case .string(let said)? = message.arguments.first { text = said }
            let name = message.errorName ?? "an error without a name"
            answered(message.replySerial, .failure(.refused(name: name, text: text)))
        case _ where message.isEndOfConnection:
            let calls = state.withLock { $0.calls }
            closeNow()
            for call in calls.values { call.answer(.failure(.closed)) }
            ended()
        default:
            if let answer = received(message) { send(answer) }
        }
    }

    private func answered(_ serial: UInt32, _ result: Result<BusMessage, BusFailure>) {
        guard let call = state.withLock({ $0.calls.removeValue(forKey: serial) }) else { return }
        call.deadline.cancel()
        call.answer(result)
    }

    private func closeNow() {
        let (number, registration, calls) = state.withLock { state in
            defer { state = State(connection: 0) }
            return (state.connection, state.registration, state.calls)
        }
        for call in calls.values { call.deadline.cancel() }
        if let registration { loop.unregister(registration, of: socket.descriptor) }
        guard let connection = OpaquePointer(bitPattern: number) else { return }
        library.connections.close(connection)
        library.connections.release(connection)
    }
}
