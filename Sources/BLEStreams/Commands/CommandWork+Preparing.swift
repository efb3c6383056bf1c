import BLEProtocol
import BLERadio
import Synchronization

/// What each attempt of a command begins with, wherever the retry stands.
enum Preparation: Sendable {
    /// A link is up, or is made within this time.
    case link(timeout: Duration)
    /// The device has authorized us.
    case authorization(Authorization)
}

/// The exchange that authorizes a queue's commands, and the link on which it was done.
final class Authorization: Sendable {
    let rule: CommandQueue.AuthorizationRule
    private let exchange: @Sendable (CommandWork) async throws -> Void
    private let done = Mutex<Int?>(nil)

    init(_ rule: CommandQueue.AuthorizationRule, _ exchange: @escaping @Sendable (CommandWork) async throws -> Void) {
        self.rule = rule
        self.exchange = exchange
    }

    /// Whether the exchange was done on the link with this number.
    func isDone(on link: Int) -> Bool { done.withLock { $0 == link } }

    fileprivate func run(in work: CommandWork) async throws {
        try await exchange(work)
        done.withLock { $0 = work.connection.number }
    }
}

/// A command that may begin with attempts of its own, which do the preparations.
protocol SelfPreparing {
    /// Whether it begins with attempts of its own.
    var beginsWithAttempts: Bool { get }

    /// Whether it makes or finds a link itself, before its work.
    var findsLink: Bool { get }
}

extension SelfPreparing {
    var findsLink: Bool { false }
}

/// Whether the command does the preparations itself, at the beginning of each attempt.
func beginsWithAttempts(_ command: some Command) -> Bool {
    (command as? any SelfPreparing)?.beginsWithAttempts ?? false
}

/// Whether the command makes or finds a link itself, before its work.
func findsLink(_ command: some Command) -> Bool { (command as? any SelfPreparing)?.findsLink ?? false }

extension CommandWork {
    /// Runs the closure with a preparation for each attempt inside it.
    func preparing<Output>(
        _ preparation: Preparation,
        _ body: () async throws -> Output
    ) async throws -> Output {
        let id = state.withLock { state in
            state.lastPreparation += 1
            state.preparations.append((state.lastPreparation, preparation))
            return state.lastPreparation
        }
        defer { state.withLock { $0.preparations.removeAll { $0.id == id } } }
        return try await body()
    }

    /// Runs a command as one attempt: does the preparations first, unless the command does them itself.
    func attempt<C: Command>(_ command: C) async throws -> C.Output {
        if !beginsWithAttempts(command) { try await prepare() }
        defer { state.withLock { $0.attempt += 1 } }
        return try await run(command)
    }

    /// Does the preparations: a link first, whatever the order of the decorators, then the authorizations. What is done
    /// already costs nothing.
    ///
    /// - Parameter waitsForSession: whether to wait for a session's link also if nothing asks for a link yet.
    func prepare(waitsForSession: Bool = true) async throws {
        let preparations = state.withLock { $0.preparations.map(\.preparation) }
        let waits = if waitsForSession, case .session = connection.source { true } else { false }
        // The exchange of an authorization may have attempts of its own, which must not authorize again.
        guard waits || !preparations.isEmpty, !isAuthorizing else { return }
        let timeouts = preparations.compactMap { if case .link(let timeout) = $0 { timeout } else { nil } }
        try await alone(within: timeouts.first) { limit in
            let wasConnected = isConnected
            if waits || limit != nil { try await findLink(within: limit) }
            // On a link that was found now that is done.
            if wasConnected { try await authorize() }
        }
    }

    /// Whether the running task is authorizing this command.
    private var isAuthorizing: Bool { Self.authorizing.contains { $0 === self } }

    /// Whether another part of the command finds a link or authorizes: until that is done, a link that is up isn't
    /// ready.
    var isBeingPrepared: Bool { state.withLock { $0.preparing != nil } && !isAuthorizing }

    /// Runs the closure while no other part of the command finds a link or authorizes. Of parts in child tasks that
    /// lose their link together, one makes the next, which all have: a second one would wait for ever for its turn on
    /// that. Where none does, as in most commands, this doesn't wait, and even a cancelled task goes on.
    ///
    /// - Parameters:
    ///   - timeout: how long the wait for that and the closure may take together; `nil`: no limit.
    ///   - body: gets this limit.
    func alone(within timeout: Duration?, _ body: (TurnLimit?) async throws -> Void) async throws {
        let limit = timeout.map { TurnLimit($0, on: peripheral, timeline) }
        // What authorizes has its command's turn.
        if isAuthorizing { return try await body(limit) }
        let own = Ending<Void>()
        while let other = state.withLock({ $0.begin(own) }) {
            try await other.wait(on: timeline, limit: limit.map { preparation(within: $0) })
        }
        defer {
            state.withLock { $0.preparing = nil }
            own.end()
        }
        try await body(limit)
    }

    /// How long to wait for other parts of the command, and the error then: what they wait for is missing here, too.
    private func preparation(within limit: TurnLimit) -> (duration: Duration, error: @Sendable () -> any Error) {
        let error: @Sendable () -> any Error = { [connection, object = "to \(peripheral)", total = limit.total] in
            BLEError.timedOut("connect", object: object, after: total, waitingFor: connection.delay ?? .preparation)
        }
        return (limit.rest.duration, error)
    }

    /// Runs the authorizations that are due on this link, or in this attempt; those that were done before one which has
    /// made another link run again.
    func authorize() async throws {
        let number = connection.number
        let (first, attempt) = state.withLock { ($0.due(on: number, after: [:]), $0.attempt) }
        guard first != nil, !isAuthorizing else { return }
        var due = first
        var runs: [ObjectIdentifier: Int] = [:]
        while let authorization = due {
            do {
                try await Self.$authorizing.withValue(Self.authorizing + [self]) {
                    try await authorization.run(in: self)
                }
            } catch {
                // Whoever tries again, on the same link perhaps, begins with the first one.
                state.withLock { $0.authorized = [:] }
                throw error
            }
            runs[ObjectIdentifier(authorization), default: 0] += 1
            let (number, ran) = (connection.number, runs)
            due = state.withLock { state in
                state.authorized[ObjectIdentifier(authorization)] = attempt
                // Attempts of the exchange don't count as the command's.
                state.attempt = attempt
                return state.due(on: number, after: ran)
            }
        }
    }
}

extension SessionPatience.Wait {
    /// What a part of a command waits for while another one authorizes.
    fileprivate static let preparation = SessionPatience.Wait(
        cause: "another part of the command did not finish authorizing",
        remedy: "Let it end first, or allow more time."
    )
}

extension CommandWork.State {
    /// How often an authorization runs at most: of several that make links, each would make the others due for ever.
    private static let mostRuns = 2

    /// Begins to find a link or to authorize, unless another part does: returns what that one will end.
    fileprivate mutating func begin(_ own: Ending<Void>) -> Ending<Void>? {
        if let preparing { return preparing }
        preparing = own
        return nil
    }

    /// The first authorization that is due on the link with this number, or in this attempt.
    ///
    /// - Parameter runs: how often each has run so far.
    fileprivate func due(on link: Int, after runs: [ObjectIdentifier: Int]) -> Authorization? {
        for entry in preparations {
            guard case .authorization(let authorization) = entry.preparation else { continue }
            let id = ObjectIdentifier(authorization)
            guard runs[id, default: 0] < Self.mostRuns else { continue }
            if !authorization.isDone(on: link) { return authorization }
            if authorization.rule == .beforeEachCommand, authorized[id] != attempt { return authorization }
        }
        return nil
    }
}
