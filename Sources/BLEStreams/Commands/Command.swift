/// One unit of work with a device, with exclusive use of the link while it runs.
///
/// A command is a value: it can be kept, composed (``then(_:)-(Next)``,
/// ``CommandBlock/group(_:_:)-(_,CommandBlock<Void>...)``, ``retry(_:when:)``,
/// ``timeout(_:)``), and run any number of times, by a ``CommandQueue`` or by ``Link/run(_:)->C.Output``. Many are
/// ready-made: `.read(uuid)`, `.write(octets, to: uuid)`, `.connect`, `.block("blink") { link in … }`. One of your own:
///
/// ```swift
/// struct Blink: Command {
///     func run(in context: CommandContext) async throws {
///         let (link, led) = (try context.link, BluetoothUUID(0xFFF1))
///         try await link.write([1], to: led)
///         try await link.write([0], to: led)
///     }
/// }
/// try await queue.run(Blink().timeout(.seconds(5)).retry())
/// ```
///
/// A flow is a longer command: it has phases, reports its progress, hears of the link and the device, and continues on
/// the next link when one is lost. Pairing, synchronization, configuration and firmware updates are flows, written with
/// the same API that yours use:
///
/// ```swift
/// struct Identify: Command {
///     func run(in context: CommandContext) async throws -> String? {
///         context.begin("identify")
///         return try await context.resuming {
///             try await context.read(BluetoothUUID.Characteristics.serialNumber).text
///         }
///     }
/// }
/// print(try await queue.connecting().run(Identify()) ?? "none")
/// ```
///
/// ``CommandQueue/run(_:replacing:priority:deadline:onProgress:)`` keeps at most one flow active at a time.
///
/// A command is cancelled with the task that runs it: each operation on its link then returns at once.
public protocol Command<Output>: Sendable {
    /// The type of its result; `Void` if it has none.
    associatedtype Output: Sendable

    /// The name that a queue shows; by default the name of the type.
    var name: String { get }

    /// Does the work.
    ///
    /// - Parameter context: the device, its link, which nobody else uses meanwhile, and a place to report progress.
    func run(in context: CommandContext) async throws -> Output
}

extension Command {
    /// The name of the type.
    public var name: String { "\(Self.self)" }
}

extension Link {
    /// Runs a command on this link, with exclusive use of it. See ``exclusively(_:)``.
    ///
    /// - Returns: what the command returns.
    /// - Throws: what the command throws; ``BLEError/Code/disconnected`` if the link has ended;
    ///   ``BLEError/Code/notSupported`` if the command connects or disconnects, which only a queue of
    ///   ``Peripheral/withQueue(_:)`` permits. On a link that is up, `.connect` does nothing.
    @discardableResult
    public func run<C: Command>(_ command: C) async throws -> C.Output {
        try await exclusively { link in
            try await CommandWork(command.name, on: link).run(command)
        }
    }
}

extension Link {
    /// Runs a ready-made command on this link: `link.run(.read(uuid))`. See ``run(_:)-(C)``.
    @discardableResult
    public func run<Output>(_ command: CommandBlock<Output>) async throws -> Output {
        try await exclusively { link in
            try await CommandWork(command.name, on: link).run(command)
        }
    }
}
