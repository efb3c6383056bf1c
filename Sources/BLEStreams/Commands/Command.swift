/// One unit of work with a device, which has the link for itself while it runs.
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
/// Cancellation reaches a command as that of its task: every operation of a link then returns at once.
public protocol Command<Output>: Sendable {
    /// What it finds out; `Void` where it only does something.
    associatedtype Output: Sendable

    /// What it is called where a queue shows its contents; the name of the type unless it says otherwise.
    var name: String { get }

    /// Does the work.
    ///
    /// - Parameter context: the link, which nobody else uses meanwhile, and the place for progress.
    func run(in context: CommandContext) async throws -> Output
}

extension Command {
    /// The name of the type.
    public var name: String { "\(Self.self)" }
}

extension Link {
    /// Runs a command on this link, with the link for itself. See ``exclusively(_:)``.
    ///
    /// - Returns: what the command returns.
    /// - Throws: what the command throws; ``BLEError/Code/disconnected`` when the link is over;
    ///   ``BLEError/Code/notSupported`` when the command ends the link, or makes one: it can do so in
    ///   ``Peripheral/withQueue(_:)`` only. On a link that stands `.connect` does nothing.
    @discardableResult
    public func run<C: Command>(_ command: C) async throws -> C.Output {
        try await exclusively { link in
            try await command.run(in: CommandContext(on: link))
        }
    }
}

extension Link {
    /// Runs a ready-made command on this link: `link.run(.read(uuid))`. See ``run(_:)-(C)``.
    @discardableResult
    public func run<Output>(_ command: CommandBlock<Output>) async throws -> Output {
        try await exclusively { link in
            try await command.run(in: CommandContext(on: link))
        }
    }
}
