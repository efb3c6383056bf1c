import BLEProtocol
import Synchronization

/// One iteration of a shared upstream, and its present consumers.
///
/// It has no task: a consumer whose own buffer is empty polls the upstream for all. Only one can do that at a time; a
/// consumer that finds the upstream locked sets a flag, and the one that has it polls once more before it unlocks it.
/// The upstream wakes all consumers, since any of them may poll next.
final class SharedIteration<Element: Sendable>: Sendable {
    private struct Consumer {
        var mailbox: Mailbox<Element>
        var waker: Waker
    }

    private struct Consumers {
        var all: [Consumer] = []
        /// The latest elements, as many as are replayed, each with the gap before it.
        var last = Ring<(gap: StreamGap?, element: Element)>()
        /// The gap behind them.
        var gap: StreamGap?
        /// Whether the upstream has ended or the last consumer has left; then nobody can join.
        var isOver = false
        /// Whether the upstream has thrown an error; then it is polled no more.
        var hasFailed = false
        /// Whether the only consumer wants no more than what has come.
        var isStopped = false
        /// Whether the consumer that has left last dropped its error.
        var dropsError = false

        /// Forgets what is replayed; to be released outside the lock.
        mutating func takeReplayed() -> (Ring<(gap: StreamGap?, element: Element)>, StreamGap?) {
            defer { (last, gap) = (Ring(), nil) }
            return (last, gap)
        }

        /// Gives a consumer the latest elements, and the gaps between and behind them; returns whether to wake it.
        func replay(to mailbox: Mailbox<Element>) -> Bool {
            var mustWake = false
            for (number, entry) in last.elements.enumerated() {
                if number > 0, let gap = entry.gap { mustWake = mailbox.put(gap) || mustWake }
                mustWake = mailbox.put(contentsOf: CollectionOfOne(entry.element)).mustWake || mustWake
            }
            if let gap { mustWake = mailbox.put(gap) || mustWake }
            return mustWake
        }
    }

    private struct Upstream {
        var cursor: Cursor<Element>?
        /// The waker that it was opened with.
        var waker: Waker?
        var isStopped = false
        var isClosed = false

        mutating func stop() {
            if !isStopped { cursor?.stop() }
            isStopped = true
        }

        mutating func close(droppingError: Bool = false) {
            isClosed = true
            guard let cursor = cursor.take() else { return }
            if droppingError, let waker { waker.dropError(cursor.close) } else { cursor.close() }
        }
    }

    /// Distinguishes it from all other iterations.
    private let number = SharedIterations.count.add(1, ordering: .relaxed).newValue
    private let replay: Int
    private let waker: Waker
    private let open: @Sendable (Waker) -> Cursor<Element>
    private let consumers = Mutex(Consumers())
    /// Locked while the upstream is polled; never waited for, since what it runs may call back here.
    private let upstream = Mutex(Upstream())
    private let isWanted = Atomic(false)
    /// Whether a consumer that has found the upstream locked must be woken once it no longer is.
    private let isAwaited = Atomic(false)

    init(replay: Int, waker: Waker, open: @escaping @Sendable (Waker) -> Cursor<Element>) {
        self.replay = replay
        self.waker = waker
        self.open = open
    }

    // MARK: - Consumers

    /// Adds a consumer, with the replayed elements; `false` if it is too late.
    func add(_ mailbox: Mailbox<Element>, _ waker: Waker) -> Bool {
        let mustWake: Bool? = consumers.withLock { consumers in
            guard !consumers.isOver else { return nil }
            consumers.all.append(Consumer(mailbox: mailbox, waker: waker))
            return consumers.replay(to: mailbox)
        }
        if mustWake == true { mailbox.wake() }
        return mustWake != nil
    }

    /// Removes a consumer; with the last one, closes the upstream.
    func remove(_ mailbox: Mailbox<Element>) {
        let (others, replayed) = consumers.withLock { consumers in
            if let index = consumers.all.firstIndex(where: { $0.mailbox === mailbox }) {
                consumers.dropsError = consumers.all.remove(at: index).waker.dropsError
            }
            if consumers.all.isEmpty { consumers.isOver = true }
            // The program may keep the stream for ever, and what an element holds is not to be kept with it.
            return (consumers.all, consumers.isOver ? consumers.takeReplayed() : nil)
        }
        // Destroyed outside the lock.
        withExtendedLifetime(replayed) {}
        // The consumer that leaves may have been the one to poll next.
        for other in others { other.waker.wake() }
        if others.isEmpty { draw() }
    }

    /// Stops the upstream if this is its only consumer. It is closed when that leaves, since the error for which it
    /// stops may yet be dropped.
    ///
    /// - Returns: whether it has no other consumer.
    func stop(for mailbox: Mailbox<Element>) -> Bool {
        let isAlone = consumers.withLock { consumers in
            guard consumers.all.count == 1, consumers.all[0].mailbox === mailbox else { return false }
            (consumers.isOver, consumers.isStopped) = (true, true)
            return true
        }
        if isAlone { draw() }
        return isAlone
    }

    private var isOver: Bool { consumers.withLock { $0.isOver } }

    /// Whether the consumers have an error behind the content of their buffers.
    var hasFailed: Bool { consumers.withLock { $0.hasFailed } }

    private func wakeAll() {
        for consumer in consumers.withLock({ $0.all }) { consumer.waker.wake() }
    }

    // MARK: - Upstream

    /// Polls the upstream until it has delivered something to all, or has nothing now; closes it at the end.
    ///
    /// - Returns: whether something was delivered.
    @discardableResult
    func draw() -> Bool { drawUnlessLocked() == true }

    /// - Returns: whether something was delivered; `nil` if another consumer polls the upstream for this one, too.
    private func drawUnlessLocked() -> Bool? {
        var result: Bool?
        isWanted.store(true, ordering: .sequentiallyConsistent)
        while isWanted.load(ordering: .sequentiallyConsistent) {
            guard let something = upstream.withLockIfAvailable({ step(&$0) }) else { return nil }
            if isAwaited.exchange(false, ordering: .sequentiallyConsistent) { wakeAll() }
            guard something, !isOver else {
                result = false
                continue
            }
            // Who joined meanwhile has nothing of it, and has found the upstream locked.
            if isWanted.load(ordering: .sequentiallyConsistent) { wakeAll() }
            return true
        }
        return result
    }

    /// Moves everything that the upstream has by now to the consumers.
    ///
    /// - Returns: whether it has. It can't while another consumer polls the upstream, which then wakes all; nor in a
    ///   cancelled task, in which the upstream may give up, and have more for a consumer behind this one.
    func drawAll() -> Bool {
        // A limit, for an upstream that always has something.
        for _ in 0..<65_536 {
            guard let something = drawUnlessLocked() ?? drawAwaiting() else { return false }
            if !something { break }
        }
        return !Task.isCancelled
    }

    /// The same once more: whoever has the upstream still, looks afterwards whether it is awaited.
    private func drawAwaiting() -> Bool? {
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        return drawUnlessLocked()
    }

    /// The part of a message that has come, for the consumer with this mailbox. As long as there are others, it is not
    /// lost: they get the message whole, unless the upstream has failed.
    func unfinished(_ scope: UnfinishedScope, of mailbox: Mailbox<Element>) -> UnfinishedParts {
        let mayComeWhole = consumers.withLock { consumers in
            !consumers.hasFailed && consumers.all.contains { $0.mailbox !== mailbox }
        }
        if scope == .lost, mayComeWhole { return UnfinishedParts() }
        let parts = upstream.withLockIfAvailable { upstream in
            // One that several consumers had is closed with its error, which still waits for this one.
            upstream.cursor?.unfinished(scope) ?? UnfinishedParts(handedOutBy: mailbox.failure)
        }
        // Who wanted to poll meanwhile has found the upstream locked.
        if isWanted.load(ordering: .sequentiallyConsistent) { wakeAll() }
        return UnfinishedParts((parts?.all ?? []).shared(by: number))
    }

    private func step(_ upstream: inout Upstream) -> Bool {
        // A caller from now on polls itself, or is served by the next round.
        isWanted.store(false, ordering: .sequentiallyConsistent)
        let (isLeft, isStopped, dropsError, hasFailed) = consumers.withLock { consumers in
            let isLeft = consumers.isOver && consumers.all.isEmpty
            return (isLeft, consumers.isStopped, consumers.dropsError, consumers.hasFailed)
        }
        if isLeft { upstream.close(droppingError: dropsError) } else if isStopped { upstream.stop() }
        guard !upstream.isClosed, !hasFailed else { return false }
        let cursor = if let cursor = upstream.cursor { cursor } else { begin(&upstream) }
        do {
            switch try cursor.poll() {
            case .element(let element): handOut(element)
            case .gap(let gap): handOut(gap)
            case .pending: return false
            case .end:
                if !isStopped { upstream.close() }
                for consumer in end() { consumer.mailbox.finish() }
            }
        } catch {
            let all = end(failing: true)
            // A single consumer says when it leaves whether it drops the error. Of several, some may and some may not,
            // and a new iteration may begin before the last one has left.
            if all.count != 1 { upstream.close() }
            let shared = all.count > 1 ? self.shared(error) : error
            for consumer in all { consumer.mailbox.finish(throwing: shared) }
        }
        return true
    }

    private func begin(_ upstream: inout Upstream) -> Cursor<Element> {
        let waker = Waker(for: self.waker) { [weak self] in self?.wakeAll() }
        let cursor = open(waker)
        (upstream.waker, upstream.cursor) = (waker, cursor)
        return cursor
    }

    private func handOut(_ element: Element) {
        let (all, _) = consumers.withLock { consumers -> ([Consumer], (gap: StreamGap?, element: Element)?) in
            guard replay > 0 else { return (consumers.all, nil) }
            consumers.last.append((consumers.gap.take(), element))
            // The oldest one is destroyed outside the lock.
            return (consumers.all, consumers.last.count > replay ? consumers.last.popFirst() : nil)
        }
        for consumer in all { consumer.mailbox.send(element) }
    }

    private func handOut(_ gap: StreamGap) {
        let all = consumers.withLock { consumers in
            // Who comes later misses nothing before the first element that is replayed.
            if !consumers.last.isEmpty { consumers.gap = consumers.gap?.merged(with: gap) ?? gap }
            return consumers.all
        }
        for consumer in all { consumer.mailbox.pass(gap) }
    }

    /// The error, with parts that several consumers get.
    private func shared(_ error: any Error) -> any Error {
        guard var shared = error as? BLEError else { return error }
        shared.receivedParts = shared.receivedParts.shared(by: number)
        return shared
    }

    /// Nobody can join any more; returns the present consumers.
    private func end(failing: Bool = false) -> [Consumer] {
        let (all, replayed) = consumers.withLock { consumers in
            consumers.isOver = true
            consumers.hasFailed = failing
            return (consumers.all, consumers.takeReplayed())
        }
        // Destroyed outside the lock.
        withExtendedLifetime(replayed) {}
        return all
    }
}

private enum SharedIterations {
    /// How many have begun.
    static let count = Atomic<UInt64>(0)
}
