import BLEProtocol
import BLERadio

/// Who wants a link to be better protected, and when something is done about it; a value without I/O.
///
/// ```
/// idle ─► raising to a level ─► idle        whoever comes meanwhile waits for its end
/// ```
/// For operations that were refused a link is raised to a level once, whatever came of it: a peer that refuses for ever
/// brings about no second try. What the program asks for in so many words is tried whenever it asks.
struct RaiseMachine {
    /// Somebody who wants it.
    typealias Token = Int

    /// What somebody who wants it is told.
    enum Outcome: Hashable {
        /// The link is at the level, or above.
        case reached
        /// The try to raise it to this level has failed.
        case failed(LinkSecurity.Level)
        /// The link is over, or about to be.
        case ended
    }

    struct Finished: Hashable {
        var token: Token
        var outcome: Outcome
    }

    /// A try to raise the link.
    struct Begin: Hashable {
        var level: LinkSecurity.Level
        /// In whose name: who answers what it asks.
        var token: Token
    }

    struct Output: Equatable {
        var begin: Begin?
        /// The try under way is given up.
        var isGivenUp = false
        var finished: [Finished] = []
    }

    private struct Waiting {
        var token: Token
        var level: LinkSecurity.Level
    }

    private var waiting: [Waiting] = []
    /// What the link is being raised to.
    private(set) var goal: LinkSecurity.Level?
    /// What has been tried for operations.
    private var tried: Set<LinkSecurity.Level> = []
    private var isOver = false

    /// How often the link has become another: what was refused before may be allowed since.
    private(set) var rises = 0

    /// Whether a try is under way: nothing is sent meanwhile.
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

    /// Somebody wants the link to be at a level, at least.
    ///
    /// - Parameters:
    ///   - isRefused: whether an operation was refused, and not the program itself asks.
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
        waiting.append(Waiting(token: token, level: level))
        guard goal == nil else { return Output() }
        goal = level
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

    /// The try is over, and the link is at this level.
    mutating func ended(at current: LinkSecurity.Level?) -> Output {
        guard let goal else { return Output() }
        tried.insert(goal)
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
        // They want more than this try was for.
        guard let next = others.max(by: { $0.level < $1.level }) else { return output }
        self.goal = next.level
        output.begin = Begin(level: next.level, token: next.token)
        return output
    }

    /// The link is about to be closed by this side: whatever is under way is given up.
    mutating func close() -> Output {
        isOver = true
        let finished = waiting.map { Finished(token: $0.token, outcome: .ended) }
        waiting = []
        return Output(isGivenUp: goal.take() != nil, finished: finished)
    }

    /// The link is over: a try under way still tells why.
    mutating func linkEnded() -> Output {
        isOver = true
        return goal == nil ? close() : Output()
    }
}
