import BLEProtocol
import BLERadio
import Synchronization

/// What a command works with: the device, its link, and a place for progress. Of no use after the command has ended.
public final class CommandContext: Sendable {
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

    /// The device; of a session that is yet to find it, one whose address is all zeros until there is a link.
    public var peripheral: Peripheral { connection.peripheral ?? firstPeripheral }

    /// Whether there is a link, and it stands.
    public var isConnected: Bool { handle?.bearer.end == nil && handle != nil }

    /// Whether a command may make and end the link, as in ``Peripheral/withQueue(_:)``.
    public var canConnect: Bool { connection.makesLinks }

    let connection: CommandConnection
    let holds = LaneHolds()
    let state: Mutex<State>
    private let firstPeripheral: Peripheral
    private let onReport: @Sendable (CommandProgress) -> Void

    var timeline: any Timeline { connection.timeline }

    private var handle: Link? { state.withLock { $0.hold?.link } }

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

    /// The link, for this command alone.
    ///
    /// - Throws: ``BLEError/Code/disconnected`` where there is none, or none any more.
    public var link: Link {
        get throws {
            guard let handle else { throw noLink }
            if let end = handle.bearer.end {
                throw BLEError.linkEnded(end, operation: "command", object: "on \(peripheral)")
            }
            return handle
        }
    }

    /// Tells how far the command has come: ``CommandQueue/contents`` shows it.
    public func report(_ progress: CommandProgress) {
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

    /// Ends the link where a decorator of the queue asks for that, and gives it back to the others.
    func finish() async {
        if canConnect, state.withLock({ $0.disconnects }) { try? await disconnect() }
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
