import BLEStreams

/// What a queue promises, as simply as can be: one step follows the other, and each limit and each end of a link is
/// known before. There are no timers, tasks, locks or cancellations.
final class ReferenceQueue {
    /// Why a step fails.
    struct Trouble: Error {
        var text: String
        var isFinal = false
        /// It is the end of a link.
        var endsLink = false
        /// There was none to begin with.
        var isWithoutLink = false

        static let cancellation = Trouble(text: "cancelled")

        var isCancellation: Bool { text == "cancelled" }
    }

    /// A link, whose end is known.
    final class Link {
        let number: Int
        let begins: Int
        var ends: Int
        /// When the device has answered what it was asked last.
        var answered = 0

        init(number: Int, begins: Int, ends: Int) { (self.number, self.begins, self.ends) = (number, begins, ends) }
    }

    /// How long a step may take in all, and until when.
    struct Limit {
        var ends: Int
        var text: String
    }

    /// An authorization, by its place among the decorations.
    struct Place: Hashable {
        var handle: Int
        var decoration: Int
    }

    /// What all parts of one command share.
    final class Work {
        let name: String
        let handle: Int
        var link: Link?
        var limits: [Int] = []
        var authorizations: [Place] = []
        var attempt = 0
        var authorized: [Place: Int] = [:]
        var requests = 0
        var isAuthorizing = false
        var after: CommandQueue.LinkAfterCommand?
        /// When another command replaces it, and by which.
        var isReplaced = Int.max
        var replacement = ""

        init(_ name: String, handle: Int) { (self.name, self.handle) = (name, handle) }
    }

    let play: ComposedQueuePlay
    var now = 0
    var outcome: ComposedQueuePlay.Outcome
    var attempts = 0
    var links = 0
    var failures: [Int: Int] = [:]
    /// The link that the queue has; of a session, the last one that it has had.
    var link: Link?
    var isDone: [Place: Int] = [:]
    var idleLimit: Int?
    /// The links of a session so far.
    var windows: [Link] = []
    /// When the queue has closed.
    var closed: Int?

    init(_ play: ComposedQueuePlay) {
        self.play = play
        outcome = .init(steps: [], ends: play.commands.map { _ in "" }, links: [], progress: [])
    }

    var isOfPeripheral: Bool { if case .peripheral = play.source { true } else { false } }
    var isOfSession: Bool { if case .session = play.source { true } else { false } }

    // MARK: - Time

    /// Lets time pass until then, unless the limit comes first.
    func wait(until end: Int, _ cancel: Int) throws(Trouble) {
        if cancel <= now { throw .cancellation }
        guard end < cancel else {
            now = cancel
            throw .cancellation
        }
        now = max(now, end)
    }

    func step(_ number: Int, _ body: () throws(Trouble) -> Void) throws(Trouble) {
        outcome.steps.append("\(now) \(number)")
        do throws(Trouble) { try body() } catch {
            outcome.steps.append("\(now) \(number) \(error.text)")
            throw error
        }
        outcome.steps.append("\(now) \(number) done")
    }

    // MARK: - Commands

    /// Whether the command prepares each of its attempts itself.
    func beginsWithAttempts(_ work: ComposedWork) -> Bool {
        switch work {
        case .retry: true
        case .timeout(_, let inner): beginsWithAttempts(inner)
        case .group(_, let members): members.first.map { beginsWithAttempts($0) } ?? false
        default: false
        }
    }

    /// Does the work.
    ///
    /// - Parameter cancel: when it is cancelled.
    func run(_ command: ComposedWork, _ work: Work, _ cancel: Int) throws(Trouble) {
        switch command {
        case .pause(let number, let duration):
            try step(number) { () throws(Trouble) in try wait(until: now + duration, cancel) }
        case .stubborn(let number, let duration): try step(number) { () throws(Trouble) in now += duration }
        case .failure(let number, let isFinal, let times):
            try step(number) { () throws(Trouble) in
                failures[number, default: 0] += 1
                if failures[number, default: 0] <= times {
                    throw Trouble(text: "malformedValue \(number)", isFinal: isFinal)
                }
            }
        case .write(let number, let delay):
            try step(number) { () throws(Trouble) in try write(delay, work, cancel) }
        case .report(let number):
            // Whoever follows the progress leaves as the queue ends, before a stubborn command has.
            if now < play.ends { outcome.progress.append("\(now) \(work.name) \(number)") }
        case .connect(let limit):
            try check(work)
            try connect(limit, work, cancel)
        case .disconnect:
            guard isOfPeripheral else { throw Trouble(text: "notSupported disconnect", isFinal: true) }
            disconnect(work)
        case .reconnect(let number, let pause, let attempts):
            try step(number) { () throws(Trouble) in try reconnect(pause, attempts, work, cancel) }
        case .resuming(_, let pause, let attempts, let inner): try resume(pause, attempts, inner, work, cancel)
        case .group(_, let members): for member in members { try run(member, work, cancel) }
        case .retry(let pause, let attempts, let inner):
            try retry(pause, attempts, work, cancel) { () throws(Trouble) in try attempt(inner, work, cancel) }
        case .timeout(let limit, let inner):
            try self.limit(limit, inner.name, cancel) { (cancel) throws(Trouble) in try run(inner, work, cancel) }
        }
    }

    func limit(
        _ limit: Int,
        _ name: String,
        _ cancel: Int,
        _ body: (Int) throws(Trouble) -> Void
    ) throws(Trouble) {
        let end = now + limit
        do throws(Trouble) { try body(min(end, cancel)) } catch {
            throw end < cancel && end <= now ? Trouble(text: "timedOut \(name)") : error
        }
    }

    func retry(
        _ pause: Int,
        _ attempts: Int,
        _ work: Work,
        _ cancel: Int,
        _ body: () throws(Trouble) -> Void
    ) throws(Trouble) {
        var failures = 0
        while true {
            let requests = work.requests
            do throws(Trouble) { return try body() } catch {
                failures += 1
                let mayHelp =
                    error.endsLink
                    ? !error.isWithoutLink && (isOfPeripheral || isOfSession) && work.requests != requests
                    : !error.isFinal
                guard !error.isCancellation, mayHelp, failures <= attempts else { throw error }
                try wait(until: now + pause, cancel)
            }
        }
    }

    private func write(_ delay: Int, _ work: Work, _ cancel: Int) throws(Trouble) {
        let link = try usable(work)
        if cancel <= now { throw .cancellation }
        try wait(until: max(now, link.answered), on: link, "write", cancel)
        link.answered = now + delay
        try wait(until: link.answered, on: link, "write", cancel)
    }

    /// Waits on a link, which may end meanwhile.
    func wait(until end: Int, on link: Link, _ operation: String, _ cancel: Int) throws(Trouble) {
        guard link.ends < min(end, cancel) else { return try wait(until: end, cancel) }
        now = max(now, link.ends)
        throw Trouble(text: "disconnected \(operation)", isFinal: true, endsLink: true)
    }

    private func usable(_ work: Work) throws(Trouble) -> Link {
        try check(work)
        guard let link = work.link else { throw noLink }
        if link.ends <= now { throw Trouble(text: "disconnected command", isFinal: true, endsLink: true) }
        return link
    }

    var noLink: Trouble { Trouble(text: "disconnected command", isFinal: true, endsLink: true, isWithoutLink: true) }

    /// Another command may have replaced this one.
    func check(_ work: Work) throws(Trouble) {
        if work.isReplaced <= now { throw Trouble(text: work.replacement) }
    }
}
