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
        /// Its adapter can't be used, or it has lost its advertising or listening, for this reason; it is served again
        /// as ``LocalPeripheral/resuming`` says. Links stay up if the adapter has kept them.
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

/// The state of a server, its watchers, and the errors that interrupt it.
final class ServingWatch: Sendable {
    private struct State {
        var current = PeripheralServer.ServingState.starting
        var watchers = Observers<Mailbox<PeripheralServer.ServingState>>()
        /// How the server ended.
        var end: Result<Void, BLEError>?
    }

    private let state = Mutex(State())
    private let news = Announcements()
    /// The errors that interrupt the serving.
    let interruptions: AsyncStream<BLEError>
    private let bell: AsyncStream<BLEError>.Continuation

    init() { (interruptions, bell) = AsyncStream.makeStream() }

    var current: PeripheralServer.ServingState { state.withLock { $0.current } }

    func set(_ new: PeripheralServer.ServingState) {
        state.withLock { state in
            guard state.end == nil else { return }
            state.current = new
            let watchers = state.watchers.all
            if !watchers.isEmpty { news.add { for watcher in watchers { watcher.send(new) } } }
        }
        news.make()
    }

    /// Records that the serving was interrupted.
    func interrupted(_ error: BLEError) {
        set(.interrupted(error))
        bell.yield(error)
    }

    func finish(_ error: BLEError?) {
        state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            let watchers = state.watchers.removeAll()
            news.add { for watcher in watchers { watcher.finish(throwing: error) } }
        }
        news.make()
        bell.finish()
    }

    /// Puts the present state into the mailbox immediately, then each new one, until the returned closure is called.
    func watch(_ mailbox: Mailbox<PeripheralServer.ServingState>) -> @Sendable () -> Void {
        let id: Int? = state.withLock { state in
            let (current, end) = (state.current, state.end)
            news.add {
                mailbox.send(current)
                if let end { mailbox.finish(end) }
            }
            return end == nil ? state.watchers.add(mailbox) : nil
        }
        news.make()
        return { if let id { _ = self.state.withLock { $0.watchers.remove(id) } } }
    }
}

extension Mailbox {
    /// Ends the streams with the outcome of the server.
    func finish(_ end: Result<Void, BLEError>) {
        switch end {
        case .success: finish()
        case .failure(let error): finish(throwing: error)
        }
    }
}
