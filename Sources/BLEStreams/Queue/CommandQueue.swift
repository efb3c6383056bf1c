import BLEProtocol
import BLERadio

/// Runs commands one at a time, each with the link for itself.
///
/// ```swift
/// try await peripheral.withQueue { queue in
///     try await queue.run(.connect)
///     let level = try await queue.run(.read(.batteryLevel), priority: .high, deadline: .seconds(10))
///     try await queue.run(.disconnect)
/// }
/// ```
///
/// Whoever calls ``run(_:priority:deadline:)`` waits in line in its own task and does the work there, so cancelling that
/// task cancels the command, waiting or running, and disturbs no other. A command that fails doesn't stop the queue.
/// ``connecting(timeout:then:)`` and ``authorizing(_:with:)`` give handles of the same queue that do more around each
/// command; leave them out and nothing else changes.
public struct CommandQueue: Sendable {
    let core: QueueCore
    var decorators: [any CommandDecorator] = []

    init(core: QueueCore) { self.core = core }

    /// A queue on a link that is yours: its commands use the link, and neither make nor end it.
    public init(on link: Link) { core = QueueCore(CommandConnection(given: link)) }

    /// The device.
    public var peripheral: Peripheral { core.connection.peripheral }

    /// The link that is up now, for operations outside of the queue: they wait while a command runs.
    public var link: Link? { core.connection.link }

    /// Runs a command when its turn has come.
    ///
    /// - Parameters:
    ///   - command: what to do.
    ///   - priority: how urgent it is; `.normal` unless said otherwise.
    ///   - deadline: for its whole stay, waiting and running; ``Command/timeout(_:)`` limits the running alone.
    /// - Returns: what the command returns.
    /// - Throws: what the command throws; ``BLEError/Code/timedOut`` past the deadline; ``BLEError/Code/deadlock`` when a
    ///   command of this queue calls it; ``BLEError/Code/ended`` when the queue is over; `CancellationError` when the
    ///   task was cancelled, or the command by ``cancel(_:)``.
    @discardableResult
    public func run<C: Command>(
        _ command: C,
        priority: CommandPriority = .normal,
        deadline: Duration? = nil
    ) async throws -> C.Output {
        try await core.run(command, decorators, priority, deadline)
    }

    /// Runs a ready-made command when its turn has come: `queue.run(.read(uuid))`. See ``run(_:priority:deadline:)-(C,_,_)``.
    @discardableResult
    public func run<Output>(
        _ command: CommandBlock<Output>,
        priority: CommandPriority = .normal,
        deadline: Duration? = nil
    ) async throws -> Output {
        try await core.run(command, decorators, priority, deadline)
    }

    /// Cancels a command by its number in ``contents``, waiting or running; its caller gets `CancellationError`.
    ///
    /// - Returns: whether it was in the queue.
    @discardableResult
    public func cancel(_ id: Item.ID) -> Bool { core.cancel(id) }
}

extension Peripheral {
    /// Runs the closure with a queue whose commands make and end the link to this peripheral; nothing is sent before.
    ///
    /// When the closure returns or throws, commands that are still in the queue are cancelled, and the link is ended.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws.
    public func withQueue<Output>(_ body: (CommandQueue) async throws -> Output) async throws -> Output {
        let core = QueueCore(CommandConnection(to: self))
        do {
            let output = try await body(CommandQueue(core: core))
            await core.close()
            return output
        } catch {
            await core.close()
            throw error
        }
    }
}
