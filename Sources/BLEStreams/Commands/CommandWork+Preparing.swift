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
        let (preparations, isAuthorizing) = state.withLock { ($0.preparations.map(\.preparation), $0.isAuthorizing) }
        // The exchange of an authorization may have attempts of its own, which must not authorize again.
        guard !isAuthorizing else { return }
        let timeouts = preparations.compactMap { if case .link(let timeout) = $0 { timeout } else { nil } }
        if let timeout = timeouts.first {
            try await findLink(timeout: timeout)
        } else if waitsForSession, case .session = connection.source {
            try await findLink(timeout: nil)
        }
        if isConnected { try await authorize() }
    }

    /// Runs the authorizations that are due on this link, or in this attempt.
    func authorize() async throws {
        let number = connection.number
        let (due, attempt) = state.withLock { state in
            guard !state.isAuthorizing else { return ([Authorization](), 0) }
            let due = state.preparations.compactMap { entry -> Authorization? in
                guard case .authorization(let authorization) = entry.preparation else { return nil }
                guard authorization.isDone(on: number) else { return authorization }
                let isOfThisAttempt = state.authorized[ObjectIdentifier(authorization)] == state.attempt
                return authorization.rule == .beforeEachCommand && !isOfThisAttempt ? authorization : nil
            }
            state.isAuthorizing = !due.isEmpty
            return (due, state.attempt)
        }
        guard !due.isEmpty else { return }
        defer { state.withLock { $0.isAuthorizing = false } }
        for authorization in due {
            try await authorization.run(in: self)
            state.withLock { state in
                state.authorized[ObjectIdentifier(authorization)] = attempt
                // Attempts of the exchange don't count as the command's.
                state.attempt = attempt
            }
        }
    }
}
