import BLEProtocol
import BLERadio
import Synchronization

/// What all parts of one command in a queue share: its link, the preparations of each attempt, and the watchers of its
/// progress.
final class CommandWork: Sendable {
    struct State {
        /// The link, held by this command.
        var hold: LinkHold?
        /// The preparations of each attempt, in the order of the queue's decorators.
        var preparations: [(id: Int, preparation: Preparation)] = []
        var lastPreparation = 0
        /// The number of attempts that have ended.
        var attempt = 0
        /// The attempt in which each authorization was last done.
        var authorized: [ObjectIdentifier: Int] = [:]
        /// Ends when the part of the command that finds its link or authorizes has done so; `nil` while none does.
        var preparing: Ending<Void>?
        /// The number of requests for a link: an attempt that has made one gets another link next time.
        var requests = 0
        /// What happens to the link after the command; `nil`: what the commands before it want.
        var after: CommandQueue.LinkAfterCommand?
        /// The watchers of new links.
        var linkWatchers = Observers<@Sendable (LinkStage) -> Void>()
        /// Hears the progress, besides the queue.
        var watcher: (@Sendable (CommandProgress) -> Void)?
    }

    /// The stages of a new link.
    enum LinkStage {
        /// The link is up.
        case connected
        /// The queue's authorizations are done on it.
        case ready
    }

    /// The commands that the running task is authorizing, which is a part of their preparation. A task that it starts
    /// inherits them, and may outlive that; a later command is never among them.
    @TaskLocal static var authorizing: [CommandWork] = []

    /// The name of the command.
    let name: String
    let connection: CommandConnection
    let holds = LaneHolds()
    /// Ends when another command replaces this one; nothing may begin after that.
    private let replacement = Ending<any Error>()
    let state: Mutex<State>
    private let firstPeripheral: Peripheral
    private let onReport: @Sendable (CommandProgress) -> Void

    var timeline: any Timeline { connection.timeline }

    /// The device. Until a session has found it, its address is all zeros.
    var peripheral: Peripheral { connection.peripheral ?? firstPeripheral }

    /// The command's link, which may have ended.
    var handle: Link? { state.withLock { $0.hold?.link } }

    /// Whether a link is up.
    var isConnected: Bool { handle?.bearer.end == nil && handle != nil }

    init(
        _ name: String,
        _ connection: CommandConnection,
        _ peripheral: Peripheral,
        hold: LinkHold?,
        report: @escaping @Sendable (CommandProgress) -> Void
    ) {
        self.name = name
        self.connection = connection
        firstPeripheral = peripheral
        state = Mutex(State(hold: hold))
        onReport = report
        if let entry = hold?.entry { holds.add(entry) }
    }

    /// For a link that is already held.
    init(_ name: String, on held: Link) {
        self.name = name
        connection = CommandConnection(given: held)
        firstPeripheral = held.peripheral
        state = Mutex(State(hold: LinkHold(link: held)))
        onReport = { _ in }
    }

    /// Runs a command, or a part of one. Its subscriptions and events end with it.
    func run<C: Command>(_ command: C) async throws -> C.Output {
        let scope = CommandScope(self)
        defer { scope.close(CancellationError()) }
        return try await command.run(in: CommandContext(work: self, scope: scope))
    }

    // MARK: - Who hears of it

    func report(_ progress: CommandProgress) {
        onReport(progress)
        state.withLock { $0.watcher }?(progress)
    }

    /// Reports progress to this watcher too.
    func watchProgress(_ watcher: @escaping @Sendable (CommandProgress) -> Void) {
        state.withLock { $0.watcher = watcher }
    }

    /// Tells the watcher of each new link, until the returned closure is called.
    func watchLinks(_ watcher: @escaping @Sendable (LinkStage) -> Void) -> @Sendable () -> Void {
        let id = state.withLock { $0.linkWatchers.add(watcher) }
        return { _ = self.state.withLock { $0.linkWatchers.remove(id) } }
    }

    func tell(_ stage: LinkStage) {
        for watcher in state.withLock({ $0.linkWatchers.all }) { watcher(stage) }
    }

    // MARK: - The end

    /// Another command replaces this one: it hears nothing more and begins nothing more. Its subscriptions stay until
    /// the end, so that clean-up which tells the device to stop still gets the answer.
    func silence(_ error: any Error) { replacement.end(error) }

    /// Calls the closure when another command replaces this one, at once if one has, until the returned closure is
    /// called.
    func whenReplaced(_ action: @escaping @Sendable (any Error) -> Void) -> @Sendable () -> Void {
        replacement.whenEnded(action)
    }

    /// - Throws: the reason, if another command has replaced this one.
    func check() throws { if let reason = replacement.reason { throw reason } }

    /// Ends the link if a decorator of the queue asks for that, at once or when it is idle, and releases the hold.
    func finish() async {
        let (after, hasLink) = state.withLock { ($0.after, $0.hold != nil) }
        switch after {
        // Whoever has had no turn on the link may not end it: another user still has exclusive use of it.
        case .disconnect? where connection.makesLinks && hasLink: try? await disconnect()
        // Only now: the command may have made several links, one after the other.
        case .disconnectWhenIdle(let limit)?: connection.idleLimit = limit
        case .stay?: connection.idleLimit = nil
        case .disconnect?, nil: break
        }
        end()
    }

    /// Releases the hold on the link.
    func end() {
        guard let hold = state.withLock({ $0.hold.take() }) else { return }
        if let entry = hold.entry {
            holds.remove(entry)
            entry.leave()
        }
        hold.release()
    }
}
