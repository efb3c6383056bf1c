import BLEProtocol
import BLERadio
import Synchronization

/// Lets one flow be active at a time: starting another ends the former.
///
/// ```swift
/// let coordinator = FlowCoordinator(queue.connecting())
/// let image = try FirmwareImage(file: "app_update.bin")
/// let synchronization = SynchronizationFlow(over: RecordAccessControlPoint.glucose, after: nil) { print($0.number) }
/// await withThrowingTaskGroup(of: Void.self) { group in
///     group.addTask { _ = try await coordinator.run(synchronization) }
///     group.addTask { try await coordinator.run(FirmwareUpdateFlow(image)) }      // ends the other one first
///     while let result = await group.nextResult() { print(result) }
/// }
/// ```
///
/// The former's caller gets ``BLEError/Code/ended``, with the name of the flow that took its place. The new one begins
/// when the former has cleaned up; from the moment it is started the former sees no event, and can do nothing more.
public final class FlowCoordinator: Sendable {
    private struct Active {
        let id: Int
        let name: String
        let wish: Ending<any Error>
        let end: Ending<Void>
    }

    private struct State {
        var active: Active?
        var lastID = 0
        var watchers = Observers<Mailbox<FlowProgress>>()
    }

    private let queue: CommandQueue
    private let state = Mutex(State())

    /// Coordinates the flows of a queue, or of a decorated handle of it.
    public init(_ queue: CommandQueue) { self.queue = queue }

    /// The name of the active flow; `nil` while there is none.
    public var activeFlow: String? { state.withLock { $0.active?.name } }

    /// The phases and the progress of whatever flow is active, from now on. It never ends by itself; a consumer that is
    /// slow gets the newest 256.
    public var progress: BLEStream<FlowProgress> {
        let subject = StreamSubject(operation: "flow progress", object: "of \(queue.core.connection.object)")
        return BLEStream(subject, timeline: queue.core.timeline, buffer: .newest(256)) { mailbox in
            let id = self.state.withLock { $0.watchers.add(mailbox) }
            return { _ = self.state.withLock { $0.watchers.remove(id) } }
        }
    }

    /// Under the lock, so that all watchers see one order.
    private func tell(_ flow: String, _ progress: CommandProgress) {
        state.withLock { state in
            for watcher in state.watchers.all { watcher.send(FlowProgress(flow: flow, progress: progress)) }
        }
    }

    /// Ends the active flow, if there is one, waits until it has cleaned up, and runs this one.
    ///
    /// - Parameters:
    ///   - flow: what to do.
    ///   - priority: how urgent it is in the queue.
    ///   - deadline: for its whole stay in the queue.
    ///   - onProgress: hears of its progress, in order, on any thread; it must not block.
    /// - Returns: what the flow returns.
    /// - Throws: what the flow throws; ``BLEError/Code/ended`` when another flow has taken its place;
    ///   `CancellationError`.
    @discardableResult
    public func run<F: Flow>(
        _ flow: F,
        priority: CommandPriority = .normal,
        deadline: Duration? = nil,
        onProgress: @escaping @Sendable (CommandProgress) -> Void = { _ in }
    ) async throws -> F.Output {
        let wish = Ending<any Error>()
        let end = Ending<Void>()
        let (own, former) = state.withLock { state in
            state.lastID += 1
            let own = Active(id: state.lastID, name: flow.name, wish: wish, end: end)
            defer { state.active = own }
            return (own, state.active)
        }
        defer {
            state.withLock { state in if state.active?.id == own.id { state.active = nil } }
            end.end()
        }
        if let former {
            former.wish.end(BLEError.replaced(former.name, by: flow.name, queue.core.connection.object))
            try await former.end.wait(on: queue.core.timeline)
        }
        let command = CoordinatedFlow(flow: flow, wish: wish) { [self] progress in
            tell(flow.name, progress)
            onProgress(progress)
        }
        return try await ending(on: queue.core.timeline, by: wish) { [queue] in
            try await queue.run(command, priority: priority, deadline: deadline)
        }
    }
}

/// How far a flow has come.
public struct FlowProgress: Hashable, Sendable {
    /// The name of the flow.
    public let flow: String
    /// Its phase, and how much of that is done.
    public let progress: CommandProgress
}

/// A flow whose channel falls silent the moment another one takes its place.
private struct CoordinatedFlow<F: Flow>: Command {
    let flow: F
    let wish: Ending<any Error>
    let onProgress: @Sendable (CommandProgress) -> Void

    var name: String { flow.name }

    func run(in context: CommandContext) async throws -> F.Output {
        let channel = FlowChannel(context)
        context.watchProgress(onProgress)
        let unlisten = wish.whenEnded { channel.silence($0) }
        defer {
            unlisten()
            channel.close(CancellationError())
        }
        return try await flow.run(on: channel)
    }
}

extension BLEError {
    fileprivate static func replaced(_ former: String, by flow: String, _ device: String) -> BLEError {
        BLEError(
            .ended,
            operation: former,
            object: "on \(device)",
            cause: "another flow has taken its place: \(flow)",
            remedy: "Start it again when that one has ended."
        )
    }
}
