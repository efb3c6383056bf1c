import BLEProtocol
import Synchronization

/// Something that has to hold at the beginning of each attempt of a command, wherever the retry stands.
enum Preparation: Sendable {
    /// There is a link; it is tried for so long to make one.
    case link(timeout: Duration)
    /// The device has let us in.
    case authorization(Authorization)
}

/// The exchange by which a device lets the commands of a queue in, and on which link that was done.
final class Authorization: Sendable {
    let rule: CommandQueue.AuthorizationRule
    private let exchange: @Sendable (CommandWork) async throws -> Void
    private let done = Mutex<Int?>(nil)

    init(_ rule: CommandQueue.AuthorizationRule, _ exchange: @escaping @Sendable (CommandWork) async throws -> Void) {
        self.rule = rule
        self.exchange = exchange
    }

    /// Whether it was done on the link with this number.
    func isDone(on link: Int) -> Bool { done.withLock { $0 == link } }

    fileprivate func run(in work: CommandWork) async throws {
        try await exchange(work)
        done.withLock { $0 = work.connection.number }
    }
}

/// A command that sees to the preparations by itself, since it begins with attempts of its own.
protocol SelfPreparing {
    /// Whether it does.
    var beginsWithAttempts: Bool { get }
}

/// Whether the command sees to the preparations by itself, at each of its attempts.
func beginsWithAttempts(_ command: some Command) -> Bool {
    (command as? any SelfPreparing)?.beginsWithAttempts ?? false
}

extension CommandWork {
    /// Has something hold at the beginning of each attempt within the closure.
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

    /// Runs a command as one attempt: sees to what has to hold, unless the command does that by itself.
    func attempt<C: Command>(_ command: C) async throws -> C.Output {
        if !beginsWithAttempts(command) { try await prepare() }
        defer { state.withLock { $0.attempt += 1 } }
        return try await run(command)
    }

    /// Sees to what has to hold now: a link first, whatever the order of decoration, and then what is done on it. What
    /// holds already costs nothing.
    func prepare() async throws {
        let (preparations, isAuthorizing) = state.withLock { ($0.preparations.map(\.preparation), $0.isAuthorizing) }
        // The exchange of an authorization may have attempts of its own.
        guard !isAuthorizing else { return }
        let timeouts = preparations.compactMap { if case .link(let timeout) = $0 { timeout } else { nil } }
        if let timeout = timeouts.first {
            try await findLink(timeout: timeout)
        } else if case .session = connection.source {
            try await findLink(timeout: nil)
        }
        if isConnected { try await authorize() }
    }

    /// Does the authorizations that are due on this link, or in this attempt.
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
                // Attempts of the exchange's own are none of the command's.
                state.attempt = attempt
            }
        }
    }
}
