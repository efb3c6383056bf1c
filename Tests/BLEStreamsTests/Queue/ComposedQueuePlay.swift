import BLEStreams

/// The work of a command that is composed at random, which the library does and ``ReferenceQueue`` does.
///
/// All times are microseconds: those that chance chooses hardly ever coincide. Each step has a number.
indirect enum ComposedWork: Sendable {
    /// Waits; ends at once when it is cancelled.
    case pause(Int, for: Int)
    /// Works; ends no sooner when it is cancelled.
    case stubborn(Int, for: Int)
    /// Fails as often as that, in whatever command it is.
    case failure(Int, isFinal: Bool, times: Int)
    /// Writes a value, for whose answer the device takes that long.
    case write(Int, answered: Int)
    case report(Int)
    case connect(within: Int)
    case disconnect
    case reconnect(Int, pause: Int, attempts: Int)
    case resuming(Int, pause: Int, attempts: Int, ComposedWork)
    case group(Int, [ComposedWork])
    case retry(pause: Int, attempts: Int, ComposedWork)
    case timeout(Int, ComposedWork)

    /// The name of the command.
    var name: String {
        switch self {
        case .pause(let number, _), .stubborn(let number, _), .failure(let number, _, _), .write(let number, _),
            .report(let number), .reconnect(let number, _, _), .resuming(let number, _, _, _), .group(let number, _):
            "\(number)"
        case .connect: "connect"
        case .disconnect: "disconnect"
        case .retry(_, _, let work), .timeout(_, let work): work.name
        }
    }
}

/// What a queue does, whose decorators, commands, links and end chance has chosen.
struct ComposedQueuePlay: Sendable {
    /// Where the links come from.
    enum Source: Sendable {
        /// One link, which is up when the queue begins.
        case link
        /// The commands make them.
        case peripheral
        /// A session makes them, so long after the last one.
        case session(pause: Int)
    }

    /// An attempt to connect.
    struct Connection: Sendable {
        var after: Int
        var fails: Bool
        /// How long the link is up, unless it is closed before.
        var lifetime: Int
    }

    enum Decoration: Sendable {
        case connecting(within: Int, then: CommandQueue.LinkAfterCommand)
        case authorizing(CommandQueue.AuthorizationRule, ComposedWork)
        case retrying(pause: Int, attempts: Int)
        case timingOut(Int)
        /// A decorator of the program's own, which waits before the command and behind it.
        case around(before: Int, after: Int)
    }

    struct Command: Sendable {
        enum Way: Sendable { case run, enqueue, replacing }

        var begins: Int
        var way: Way
        /// The number of the handle of the queue.
        var handle: Int
        var work: ComposedWork
        var priority: Int
        var deadline: Int?
        /// When it is cancelled; never, if it has ended by then.
        var isCancelled: Int
    }

    /// What is compared.
    struct Outcome: Equatable, Sendable {
        /// The steps, in order.
        var steps: [String]
        /// How each command has ended.
        var ends: [String]
        /// What the radio has done.
        var links: [String]
        /// What the queue reports.
        var progress: [String]
    }

    var source: Source
    var connections: [Connection]
    /// The decorations of each handle of the queue, the outermost first.
    var handles: [[Decoration]]
    /// In the order in which they begin.
    var commands: [Command]
    /// When the scope of the queue ends, or is cancelled.
    var ends: Int
    var isCancelled: Bool

    static func text(of error: any Error) -> String {
        guard let error = error as? BLEError else { return error is CancellationError ? "cancelled" : "\(error)" }
        if error.code == .ended { return "\(error.code) \(error.operation): \(error.cause)" }
        return "\(error.code) \(error.operation)"
    }
}
