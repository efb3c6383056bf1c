/// Runs commands one at a time, each with exclusive use of the link.
///
/// ```swift
/// try await peripheral.withQueue { queue in
///     try await queue.run(.connect)
///     let level = try await queue.run(.read(.batteryLevel), priority: .high, deadline: .seconds(10))
///     try await queue.run(.disconnect)
///     print(level)
/// }
/// ```
///
/// There is a queue for each kind of link: ``Peripheral/withQueue(_:)``, whose commands make and end the link;
/// ``Link/withQueue(_:)`` on a link that is yours; ``Session/queue`` on the links of a session.
///
/// ``run(_:priority:deadline:)-(C,_,_)`` waits for the command's turn and runs it in the caller's task. Cancelling that
/// task cancels the command, whether it waits or runs, and no other. ``enqueue(_:priority:deadline:)-(C,_,_)`` returns
/// at once, with a handle. A command that fails doesn't stop the queue.
///
/// ## Decorators
///
/// ``connecting(timeout:then:)``, ``authorizing(_:with:)-(_,Command<()>)``, ``retrying(_:when:)`` and
/// ``timingOut(after:)`` return handles of the same queue that do more around each command. The decorator added first
/// is outermost. Connecting and authorizing prepare the link: each attempt of a command begins with them, wherever the
/// retry is placed, and authorizing always follows connecting. So the order decides only what a time limit covers, and
/// whether it applies to each attempt or to all of them together.
///
/// | order (outermost first) | tried again | the time limit covers |
/// |---|---|---|
/// | connecting, retrying | connecting and the command | |
/// | retrying, connecting | connecting and the command | |
/// | connecting, timing out | | the command |
/// | timing out, connecting | | connecting and the command |
/// | connecting, authorizing, timing out (also: authorizing, connecting, timing out) | | the command |
/// | connecting, timing out, authorizing | | authorizing and the command |
/// | timing out before connecting, authorizing wherever | | connecting, authorizing and the command |
/// | timing out before retrying, the others wherever | all | all attempts, their preparations and the pauses |
/// | retrying before timing out before connecting, authorizing wherever | all | each attempt, with connecting and authorizing |
/// | retrying and connecting before timing out before authorizing | all | each attempt, with authorizing |
/// | retrying, connecting and authorizing before timing out | all | the command of each attempt |
///
/// The same is true of a command's own wrappers, which are inside the queue's. In a queue that connects,
/// `read.timeout(t)` limits the read, `read.timeout(t).retry()` each read, `read.retry().timeout(t)` all attempts
/// including connecting. The article <doc:QueueDecorators> lists all 64 orders.
public struct CommandQueue: Sendable {
    let core: QueueCore
    var decorators: [any CommandQueue.Decorator] = []

    init(core: QueueCore) { self.core = core }

    /// The device; `nil` until a session has found it.
    public var peripheral: Peripheral? { core.connection.peripheral }

    /// The link that is up now; operations on it from outside the queue wait while a command runs.
    public var link: Link? { core.connection.link }

    /// Runs a command when its turn comes.
    ///
    /// - Parameters:
    ///   - command: what to do.
    ///   - priority: how urgent it is; `.normal` by default.
    ///   - deadline: the limit for waiting and running together; ``Command/timeout(_:)`` limits only the running.
    /// - Returns: what the command returns.
    /// - Throws: what the command throws; ``BLEError/Code/timedOut`` past the deadline; ``BLEError/Code/deadlock`` when
    ///   a command of this queue calls it; ``BLEError/Code/ended`` when the queue is over; `CancellationError` when the
    ///   task was cancelled, or the command was by ``cancel(_:)``.
    @discardableResult
    public func run<C: Command>(
        _ command: C,
        priority: CommandQueue.Priority = .normal,
        deadline: Duration? = nil
    ) async throws -> C.Output {
        try await core.run(command, decorators, priority, deadline)
    }

    /// Runs a ready-made command when its turn comes: `queue.run(.read(uuid))`. See
    /// ``run(_:priority:deadline:)-(C,_,_)``.
    @discardableResult
    public func run<Output>(
        _ command: CommandBlock<Output>,
        priority: CommandQueue.Priority = .normal,
        deadline: Duration? = nil
    ) async throws -> Output {
        try await core.run(command, decorators, priority, deadline)
    }

    /// Puts a command into the queue without waiting: commands of one priority run in the order of these calls.
    ///
    /// ```swift
    /// let mode = BluetoothUUID(0xFFF1)
    /// queue.enqueue(.write([1], to: mode))
    /// let level = queue.enqueue(.read(.batteryLevel))
    /// queue.enqueue(.write([0], to: mode), priority: .low)
    /// print(try await level.value)
    /// ```
    ///
    /// The command runs when its turn comes, in a child task of the scope that owns the queue, whether or not anybody
    /// keeps the handle; in a ``Session/queue``, while the session runs. A command of the same queue may call this too.
    ///
    /// - Parameters:
    ///   - command: what to do.
    ///   - priority: how urgent it is; `.normal` by default.
    ///   - deadline: the limit for waiting and running together, counted from now.
    /// - Returns: a handle to cancel, await and watch the command. If the queue is over, the command has already failed
    ///   with ``BLEError/Code/ended``.
    @discardableResult
    public func enqueue<C: Command>(
        _ command: C,
        priority: CommandQueue.Priority = .normal,
        deadline: Duration? = nil
    ) -> CommandQueue.Handle<C.Output> {
        core.enqueue(command, decorators, priority, deadline)
    }

    /// Puts a ready-made command into the queue without waiting: `queue.enqueue(.read(uuid))`. See
    /// ``enqueue(_:priority:deadline:)-(C,_,_)``.
    @discardableResult
    public func enqueue<Output>(
        _ command: CommandBlock<Output>,
        priority: CommandQueue.Priority = .normal,
        deadline: Duration? = nil
    ) -> CommandQueue.Handle<Output> {
        core.enqueue(command, decorators, priority, deadline)
    }

    /// Cancels the command with this number in ``contents``, whether it waits or runs; its caller gets
    /// `CancellationError`.
    ///
    /// - Returns: whether it was in the queue.
    @discardableResult
    public func cancel(_ id: Item.ID) -> Bool { core.cancel(id) }
}

extension Peripheral {
    /// Runs the closure with a queue whose commands make and end the link to this peripheral. Nothing is sent until the
    /// first command runs.
    ///
    /// When the closure returns or throws, commands that are still in the queue fail with ``BLEError/Code/ended``, and
    /// the link is ended. While a ``Session`` has the link, commands that connect fail with ``BLEError/Code/busy``: run
    /// them in ``Session/queue``.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws.
    public func withQueue<Output>(_ body: (CommandQueue) async throws -> Output) async throws -> Output {
        try await QueueCore(CommandConnection(to: self)).scope(body)
    }
}

extension Link {
    /// Runs the closure with a queue on this link. Its commands use the link; they neither make nor end it.
    ///
    /// When the closure returns or throws, commands that are still in the queue fail with ``BLEError/Code/ended``. Once
    /// the link is lost, commands fail with ``BLEError/Code/disconnected``: for work that continues on the next link,
    /// use ``Peripheral/withQueue(_:)`` with ``CommandQueue/connecting(timeout:then:)``, or ``Session/queue``.
    ///
    /// ```swift
    /// try await link.withQueue { queue in
    ///     let level = queue.enqueue(.read(.batteryLevel))
    ///     let name = queue.enqueue(.read(BluetoothUUID.Characteristics.serialNumber))
    ///     print(try await level.value, try await name.value)
    /// }
    /// ```
    ///
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws.
    public func withQueue<Output>(_ body: (CommandQueue) async throws -> Output) async throws -> Output {
        try await QueueCore(CommandConnection(given: self)).scope(body)
    }
}
