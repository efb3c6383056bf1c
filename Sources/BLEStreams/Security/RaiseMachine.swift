import BLEProtocol

/// The callers that want a link to be better protected, and when to raise it; a value without I/O.
///
/// ```
/// idle ─► raising to a level ─► idle        whoever comes meanwhile waits for its end
/// ```
/// For refused operations, a link is raised to a level only once, whatever the outcome: a peer that keeps refusing
/// causes no second attempt. A request of the program itself is attempted each time, and is none for operations: their
/// answers are others.
struct RaiseMachine {
    /// A caller that wants it.
    typealias Token = Int

    /// The answer to a caller.
    enum Outcome: Hashable {
        /// The link is at the level, or above.
        case reached
        /// The attempt to raise it to this level has failed.
        case failed(LinkSecurity.Level)
        /// The link has ended, or is about to end.
        case ended
    }

    struct Finished: Hashable {
        var token: Token
        var outcome: Outcome
    }

    /// An attempt to raise the link.
    struct Begin: Hashable {
        var level: LinkSecurity.Level
        /// The caller whose answers are used.
        var token: Token
    }

    struct Output: Equatable {
        var begin: Begin?
        /// Whether to give up the attempt in progress.
        var isGivenUp = false
        var finished: [Finished] = []
    }

    private struct Waiting {
        var token: Token
        var level: LinkSecurity.Level
        /// Whether an operation was refused.
        var isRefused: Bool
    }

    private var waiting: [Waiting] = []
    /// The level that the link is being raised to.
    private(set) var goal: LinkSecurity.Level?
    /// Whether a refused operation waits for the attempt in progress, or has waited for it.
    private var isForOperations = false
    /// The levels that were attempted for operations.
    private var tried: Set<LinkSecurity.Level> = []
    private var isOver = false

    /// How often the link's protection has changed: what was refused before may be allowed now.
    private(set) var rises = 0

    /// Whether an attempt is in progress: nothing is sent meanwhile.
    var isRaising: Bool { goal != nil }

    /// The level that a link must be raised to after a refusal; `nil` if its protection isn't the reason, or pairing
    /// again wouldn't help.
    ///
    /// Source: Core Specification, Vol 3, Part C, 10.3.2.
    static func level(for error: ATTError, at security: LinkSecurity) -> LinkSecurity.Level? {
        switch (error, security.level) {
        case (.insufficientAuthentication, nil), (.insufficientEncryption, nil), (.encryptionKeySizeTooShort, nil):
            .encrypted
        case (.insufficientAuthentication, .encrypted): .authenticated
        default: nil
        }
    }

    /// A caller wants the link to be at this level at least.
    ///
    /// - Parameters:
    ///   - isRefused: whether an operation was refused; otherwise the program itself asks.
    ///   - current: the level of the link.
    mutating func want(
        _ level: LinkSecurity.Level,
        _ token: Token,
        isRefused: Bool,
        at current: LinkSecurity.Level?
    ) -> Output {
        if isOver { return Output(finished: [Finished(token: token, outcome: .ended)]) }
        if let current, current >= level { return Output(finished: [Finished(token: token, outcome: .reached)]) }
        if goal == nil, isRefused, tried.contains(level) {
            return Output(finished: [Finished(token: token, outcome: .failed(level))])
        }
        waiting.append(Waiting(token: token, level: level, isRefused: isRefused))
        guard goal == nil else {
            if isRefused { isForOperations = true }
            return Output()
        }
        goal = level
        isForOperations = isRefused
        return Output(begin: Begin(level: level, token: token))
    }

    /// A caller no longer wants it. An attempt that no caller waits for is given up and doesn't count: the program has
    /// ended it, not the peer.
    mutating func leave(_ token: Token) -> Output {
        guard let index = waiting.firstIndex(where: { $0.token == token }) else { return Output() }
        waiting.remove(at: index)
        guard waiting.isEmpty, goal != nil else { return Output() }
        goal = nil
        return Output(isGivenUp: true)
    }

    /// The attempt has ended, and the link is at this level.
    mutating func ended(at current: LinkSecurity.Level?) -> Output {
        guard let goal else { return Output() }
        if isForOperations { tried.insert(goal) }
        self.goal = nil
        let hasRisen = current.map { $0 >= goal } ?? false
        if hasRisen { rises += 1 }
        var output = Output()
        var others: [Waiting] = []
        for one in waiting {
            if let current, current >= one.level {
                output.finished.append(Finished(token: one.token, outcome: .reached))
            } else if hasRisen, !isOver {
                others.append(one)
            } else {
                output.finished.append(Finished(token: one.token, outcome: .failed(goal)))
            }
        }
        waiting = others
        // They want a higher level than this attempt had.
        guard let next = others.max(by: { $0.level < $1.level }) else { return output }
        self.goal = next.level
        isForOperations = others.contains(where: \.isRefused)
        output.begin = Begin(level: next.level, token: next.token)
        return output
    }

    /// This side is about to close the link: the attempt in progress is given up.
    mutating func close() -> Output {
        isOver = true
        let finished = waiting.map { Finished(token: $0.token, outcome: .ended) }
        waiting = []
        return Output(isGivenUp: goal.take() != nil, finished: finished)
    }

    /// The link has ended: an attempt in progress still reports why.
    mutating func linkEnded() -> Output {
        isOver = true
        return goal == nil ? close() : Output()
    }
}
