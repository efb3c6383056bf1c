import BLEProtocol
import BLERadio
import Synchronization

extension CommandQueue {
    /// What a command replaces.
    public enum Replacement: Hashable, Sendable {
        /// The active flow: the command that was last run this way in the same queue, if it has not ended.
        case activeFlow
    }

    /// Ends the active flow, if there is one, waits until it has cleaned up, and runs this command as the active flow.
    /// At most one is active.
    ///
    /// ```swift
    /// let queue = queue.connecting()
    /// let image = try FirmwareImage(file: "app_update.bin")
    /// let synchronization = SynchronizationFlow(over: RecordAccessControlPoint.glucose, after: nil) {
    ///     print($0.number)
    /// }
    /// await withThrowingTaskGroup(of: Void.self) { group in
    ///     group.addTask { _ = try await queue.run(synchronization, replacing: .activeFlow) }
    ///     // ends the other one
    ///     group.addTask { try await queue.run(FirmwareUpdateFlow(image), replacing: .activeFlow) }
    ///     while let result = await group.nextResult() { print(result) }
    /// }
    /// ```
    ///
    /// The caller of the replaced flow gets ``BLEError/Code/ended``, with the name of the command that replaced it;
    /// neither its own retry nor the queue's runs it again. From the moment of this call the replaced flow hears no
    /// event, and can do nothing but ``CommandContext/conclude(_:on:limit:where:)``. All handles of a queue, decorated
    /// or not, share the active flow.
    ///
    /// - Parameters:
    ///   - command: what to do.
    ///   - replacement: what it replaces.
    ///   - priority: how urgent it is in the queue.
    ///   - deadline: the limit for waiting and running together, not counting the replaced flow's clean-up.
    ///   - onProgress: called with each progress report, in order, on any thread; it must not block.
    /// - Returns: what the command returns.
    /// - Throws: what ``run(_:priority:deadline:)-(C,_,_)`` throws; ``BLEError/Code/ended`` if another command has
    ///   replaced this one. A call by a task that is cancelled already replaces nothing.
    @discardableResult
    public func run<C: Command>(
        _ command: C,
        replacing replacement: Replacement,
        priority: CommandQueue.Priority = .normal,
        deadline: Duration? = nil,
        onProgress: @escaping @Sendable (CommandProgress) -> Void = { _ in }
    ) async throws -> C.Output {
        // Before another flow is ended: it may be the one that calls this, and nothing may follow it.
        try core.refuseToWait(for: command.name)
        try Task.checkCancellation()
        let own = ActiveFlow(name: command.name)
        let former = core.activeFlow.withLock { active in
            defer { active = own }
            return active
        }
        defer { core.ended(own, after: former) }
        if let former {
            former.wish.end(BLEError.replaced(former.name, by: command.name, core.connection.object))
            try await former.end.wait(on: core.timeline)
            // Another one may have taken its place before it had its own.
            if let reason = own.wish.reason { throw reason }
        }
        let replaceable = ReplaceableCommand(command: command, wish: own.wish, onProgress: onProgress)
        return try await ending(on: core.timeline, by: own.wish) {
            try await run(replaceable, priority: priority, deadline: deadline)
        }
    }

    /// The name of the active flow; `nil` if there is none. See ``run(_:replacing:priority:deadline:onProgress:)``.
    public var activeFlow: String? { core.activeFlow.withLock { $0?.name } }

    /// The progress of each command that runs from now on, with its ``CommandProgress/command``.
    ///
    /// The stream ends when the queue closes, like ``contents``. A slow consumer gets the newest 256 reports.
    public var progress: BLEStream<CommandProgress> { core.progress }
}

extension QueueCore {
    /// A flow has ended. If it was cancelled while the one before it cleaned up, that is the active one again, and
    /// whoever has replaced this one waits for that, too.
    fileprivate func ended(_ flow: ActiveFlow, after former: ActiveFlow?) {
        activeFlow.withLock { active in
            if active === flow, let former, !former.end.hasEnded { active = former }
        }
        let end: @Sendable () -> Void = { [self] in
            flow.end.end()
            // Only then: until it has ended, it may become the active one again.
            activeFlow.withLock { active in if active === flow { active = nil } }
        }
        guard let former else { return end() }
        former.end.whenEnded { end() }
    }
}

/// A flow that another one may replace.
final class ActiveFlow: Sendable {
    let name: String
    /// Ends the flow early.
    let wish = Ending<any Error>()
    /// Ends when the flow has cleaned up, and those before it.
    let end = Ending<Void>()

    init(name: String) { self.name = name }
}

/// A command that falls silent the moment another one replaces it.
private struct ReplaceableCommand<Base: Command>: Command, SelfPreparing {
    let command: Base
    let wish: Ending<any Error>
    let onProgress: @Sendable (CommandProgress) -> Void

    var name: String { command.name }

    var beginsWithAttempts: Bool { BLEStreams.beginsWithAttempts(command) }

    func run(in context: CommandContext) async throws -> Base.Output {
        context.work.watchProgress(onProgress)
        let unlisten = wish.whenEnded { context.work.silence($0) }
        defer { unlisten() }
        // It may have been replaced just as its turn came: then it doesn't begin.
        try context.work.check()
        return try await context.work.run(command)
    }
}

extension BLEError {
    fileprivate static func replaced(_ former: String, by flow: String, _ device: String) -> BLEError {
        BLEError(
            .ended,
            operation: former,
            object: "on \(device)",
            cause: "another command has taken its place: \(flow)",
            remedy: "Start it again when that one has ended."
        )
    }
}
