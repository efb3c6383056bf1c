import BLEProtocol
import BLERadio
import Synchronization

/// What all parts of one command in a queue work with: its link, what has to hold at the beginning of each attempt, and who
/// hears of its progress.
final class CommandWork: Sendable {
    struct State {
        /// The link, for this command alone.
        var hold: LinkHold?
        /// What has to hold at the beginning of each attempt, in the order in which the queue was decorated.
        var preparations: [(id: Int, preparation: Preparation)] = []
        var lastPreparation = 0
        /// Counts the attempts that have ended.
        var attempt = 0
        /// In which attempt each authorization was done.
        var authorized: [ObjectIdentifier: Int] = [:]
        var isAuthorizing = false
        /// Counts how often a link was asked for: an attempt that asks finds another one next time.
        var requests = 0
        /// Whether the link is ended behind the command.
        var disconnects = false
        /// Who hears of each new link.
        var linkWatchers = Observers<@Sendable (LinkStage) -> Void>()
        /// Who hears of the progress, beside the caller.
        var watcher: (@Sendable (CommandProgress) -> Void)?
    }

    /// How far a new link is.
    enum LinkStage {
        /// It is up.
        case connected
        /// What has to be done first on each link is done.
        case ready
    }

    let connection: CommandConnection
    let holds = LaneHolds()
    /// Why nothing may be begun any more: another command has taken its place.
    private let replacement = Ending<any Error>()
    let state: Mutex<State>
    private let firstPeripheral: Peripheral
    private let onReport: @Sendable (CommandProgress) -> Void

    var timeline: any Timeline { connection.timeline }

    /// The device; of a session that is yet to find it, one whose address is all zeros until there is a link.
    var peripheral: Peripheral { connection.peripheral ?? firstPeripheral }

    /// The link of the command, whether it stands or not.
    var handle: Link? { state.withLock { $0.hold?.link } }

    /// Whether there is a link, and it stands.
    var isConnected: Bool { handle?.bearer.end == nil && handle != nil }

    init(
        _ connection: CommandConnection,
        _ peripheral: Peripheral,
        hold: LinkHold?,
        report: @escaping @Sendable (CommandProgress) -> Void
    ) {
        self.connection = connection
        firstPeripheral = peripheral
        state = Mutex(State(hold: hold))
        onReport = report
        if let entry = hold?.entry { holds.add(entry) }
    }

    /// With a link that is held already.
    init(on held: Link) {
        connection = CommandConnection(given: held)
        firstPeripheral = held.peripheral
        state = Mutex(State(hold: LinkHold(link: held)))
        onReport = { _ in }
    }

    /// Runs a command, or a part of one: what it subscribes to and hears ends with it.
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

    /// Has somebody else hear of the progress too.
    func watchProgress(_ watcher: @escaping @Sendable (CommandProgress) -> Void) {
        state.withLock { $0.watcher = watcher }
    }

    /// Has somebody hear of each new link, until what is returned is called.
    func watchLinks(_ watcher: @escaping @Sendable (LinkStage) -> Void) -> @Sendable () -> Void {
        let id = state.withLock { $0.linkWatchers.add(watcher) }
        return { _ = self.state.withLock { $0.linkWatchers.remove(id) } }
    }

    func tell(_ stage: LinkStage) {
        for watcher in state.withLock({ $0.linkWatchers.all }) { watcher(stage) }
    }

    // MARK: - The end

    /// Another command has taken its place: nothing is heard any more, and nothing begins. What is subscribed to stays so
    /// until the end: whoever has to tell the device to stop still hears its answer.
    func silence(_ error: any Error) { replacement.end(error) }

    /// Calls the closure once another command has taken its place, at once where one has; what is returned takes that back.
    func whenReplaced(_ action: @escaping @Sendable (any Error) -> Void) -> @Sendable () -> Void {
        replacement.whenEnded(action)
    }

    /// - Throws: why nothing may be begun any more.
    func check() throws { if let reason = replacement.reason { throw reason } }

    /// Ends the link where a decorator of the queue asks for that, and gives it back to the others.
    func finish() async {
        if connection.makesLinks, state.withLock({ $0.disconnects }) { try? await disconnect() }
        end()
    }

    /// Gives the link back to the others.
    func end() {
        guard let hold = state.withLock({ $0.hold.take() }) else { return }
        if let entry = hold.entry {
            holds.remove(entry)
            entry.leave()
        }
        hold.release()
    }
}
