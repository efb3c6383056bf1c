internal import BLERadio
internal import Synchronization

/// A pairing's turn to be the newest of bluetoothd's agents, among all pairings of this library on one bus.
///
/// bluetoothd asks its newest agent about every pairing, whichever program pairs, and what that one knows nothing about
/// is refused. So who becomes the agent keeps the next one away until bluetoothd has asked. The turn is the name of a
/// socket, which the kernel frees when it is closed, or its program ends, however it ends; who waits is connected to
/// it, and learns of its end from that.
final class AgentTurn: Sendable {
    /// How long to wait for others: one of them may be stopped. The Security Manager gives a pairing's step 30 s.
    static let patience = Duration.seconds(10)

    /// How often a turn that is free again is taken by another one meanwhile, until this one goes on without.
    private static let maximumAttempts = 1000

    private struct State {
        /// The turn, or the connection to who has it.
        var socket: SharedDescriptor?
        var registration: EventLoop.Registration?
        var patience: RadioActivity?
        var attempts = 0
        /// Called when it is this pairing's turn.
        var taken: (@Sendable () -> Void)?
        var isOver = false
    }

    private let name: String
    private let kernel: Kernel
    private let loop: EventLoop
    private let timeline: any Timeline
    private let state = Mutex(State())

    /// - Parameter bus: the bus on which bluetoothd is reached.
    init(on bus: SystemBus, of kernel: Kernel = .ofThisMachine, loop: EventLoop, timeline: any Timeline) {
        // A socket's name has a limit; what is particular about a bus stands at the end of its address.
        name = "blestreams/agent/" + String(decoding: bus.address.utf8.suffix(80), as: UTF8.self)
        self.kernel = kernel
        self.loop = loop
        self.timeline = timeline
    }

    deinit { release() }

    /// Takes the turn as soon as nobody else has it; on the loop's thread, as the closure is called: once, unless the
    /// turn is released before. After ``patience`` it is called without one.
    func take(_ taken: @escaping @Sendable () -> Void) {
        state.withLock { $0.taken = taken }
        attempt()
    }

    /// Lets the next one take its turn, or waits no more.
    func release() {
        let former = state.withLock { state in
            defer { (state.isOver, state.taken) = (true, nil) }
            return Self.empty(&state)
        }
        end(former)
    }

    // MARK: - On the loop's thread

    private func attempt() {
        let isOver = state.withLock { state in
            state.attempts += 1
            return state.isOver
        }
        if isOver { return }
        do throws(SystemError) {
            succeed(with: SharedDescriptor(try .listeningSocket(named: name, of: kernel)))
        } catch .addressInUse {
            waitForOther()
        } catch {
            // What prevents this prevents no pairing.
            succeed(with: nil)
        }
    }

    private func waitForOther() {
        let other: SharedDescriptor
        do throws(SystemError) {
            other = SharedDescriptor(try .socket(connectedTo: name, of: kernel))
        } catch .connectionRefused {
            // It has just ended, or has its name but doesn't listen yet.
            return attemptAgain()
        } catch {
            return succeed(with: nil)
        }
        guard
            let registration = try? loop.register(
                other.descriptor,
                for: .readable,
                { [weak self] _, _ in self?.otherEnded() }
            )
        else { return succeed(with: nil) }
        let isOver = state.withLock { state in
            if !state.isOver { (state.socket, state.registration) = (other, registration) }
            return state.isOver
        }
        if isOver { return loop.unregister(registration, of: other.descriptor) }
        waitNoLonger()
    }

    /// Goes on without a turn after some time.
    private func waitNoLonger() {
        guard state.withLock({ $0.patience == nil }) else { return }
        let patience = timeline.schedule(after: Self.patience) { [weak self, loop] in
            loop.enqueue { [weak self] in self?.succeed(with: nil) }
        }
        let isOver = state.withLock { state in
            if !state.isOver { state.patience = patience }
            return state.isOver
        }
        if isOver { patience.cancel() }
    }

    private func otherEnded() {
        let former = state.withLock { state in
            defer { (state.socket, state.registration) = (nil, nil) }
            return (state.socket, state.registration, RadioActivity?.none)
        }
        end(former)
        attemptAgain()
    }

    private func attemptAgain() {
        guard state.withLock({ $0.attempts < Self.maximumAttempts }) else { return succeed(with: nil) }
        loop.enqueue { [weak self] in self?.attempt() }
    }

    /// Gives the turn, once: a limit that passes behind that changes nothing any more.
    private func succeed(with turn: SharedDescriptor?) {
        let (taken, former) = state.withLock { state -> ((@Sendable () -> Void)?, Former?) in
            guard let taken = state.taken.take() else { return (nil, nil) }
            let former = Self.empty(&state)
            state.socket = turn
            return (taken, former)
        }
        if let former { end(former) }
        taken?()
    }

    // MARK: - Ends

    private typealias Former = (
        socket: SharedDescriptor?, registration: EventLoop.Registration?, patience: RadioActivity?
    )

    private static func empty(_ state: inout State) -> Former {
        defer { (state.socket, state.registration, state.patience) = (nil, nil, nil) }
        return (state.socket, state.registration, state.patience)
    }

    private func end(_ former: Former) {
        former.patience?.cancel()
        if let socket = former.socket, let registration = former.registration {
            loop.unregister(registration, of: socket.descriptor)
        }
    }
}
