public import BLEProtocol
import BLERadio
import Synchronization

extension PeripheralServer {
    /// Whether a peripheral of this program can be found and connected to.
    public enum ServingState: Sendable {
        /// It begins to listen and to advertise.
        case starting
        /// It advertises, and centrals may connect.
        case serving
        /// Its adapter can't be used, or it has lost its advertising or listening, for this reason; it is served again as
        /// ``LocalPeripheral/resuming`` says. Links stay up if the adapter has kept them.
        case interrupted(BLEError)
    }
}

extension PeripheralServer.ServingState: CustomStringConvertible {
    /// `starting`, `serving`, `interrupted: ` and the error.
    public var description: String {
        switch self {
        case .starting: "starting"
        case .serving: "serving"
        case .interrupted(let error): "interrupted: \(error)"
        }
    }
}

extension PeripheralServer {
    /// Whether it can be found and connected to now.
    public var state: PeripheralServer.ServingState { serving.current }

    /// Whether it can be found and connected to: the present state, then each change.
    ///
    /// Ends when the server stops; throws when the adapter fails for good. A slow consumer gets the newest 256.
    public var states: BLEStream<PeripheralServer.ServingState> {
        BLEStream(
            StreamSubject(operation: "serving states", object: name),
            timeline: radio.timeline,
            buffer: .newest(256)
        ) { [serving] mailbox in serving.watch(mailbox) }
    }
}

/// The state of a server, who watches it, and what interrupts it.
final class ServingWatch: Sendable {
    private struct State {
        var current = PeripheralServer.ServingState.starting
        var watchers = Observers<Mailbox<PeripheralServer.ServingState>>()
        /// What all has ended with.
        var end: Result<Void, BLEError>?
    }

    private let state = Mutex(State())
    /// What ends the serving, each time it does.
    let interruptions: AsyncStream<BLEError>
    private let bell: AsyncStream<BLEError>.Continuation

    init() { (interruptions, bell) = AsyncStream.makeStream() }

    var current: PeripheralServer.ServingState { state.withLock { $0.current } }

    func set(_ new: PeripheralServer.ServingState) {
        state.withLock { state in
            guard state.end == nil else { return }
            state.current = new
            // Under the lock, so that all watchers see one order.
            for watcher in state.watchers.all { watcher.send(new) }
        }
    }

    /// It was served until now.
    func interrupted(_ error: BLEError) {
        set(.interrupted(error))
        bell.yield(error)
    }

    func finish(_ error: BLEError?) {
        let watchers = state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            return state.watchers.removeAll()
        }
        for watcher in watchers { watcher.finish(throwing: error) }
        bell.finish()
    }

    /// The present state goes into the mailbox at once, then each one, until what is returned is called.
    func watch(_ mailbox: Mailbox<PeripheralServer.ServingState>) -> @Sendable () -> Void {
        let (id, end) = state.withLock { state in
            mailbox.send(state.current)
            return state.end.map { (nil, $0) } ?? (state.watchers.add(mailbox), nil)
        }
        if case .failure(let error)? = end { mailbox.finish(throwing: error) }
        if case .success? = end { mailbox.finish() }
        return { if let id { _ = self.state.withLock { $0.watchers.remove(id) } } }
    }
}
