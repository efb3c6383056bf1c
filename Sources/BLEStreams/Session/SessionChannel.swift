import BLEProtocol
import BLERadio

/// The consumers of one subscription of a session, over all its links.
///
/// It is a class because a dictionary has it: each value's delivery would move the whole of it out and back.
final class SessionChannel {
    typealias Wake = @Sendable () -> Void

    /// What cuts off a message that is under way.
    private enum Cut {
        case interruption(SessionInterruption)
        /// Why values may be missing before the next one, though the link goes on.
        case moved(any Error)
    }

    private struct Consumer {
        let consumer: SessionConsumer
        /// `nil` while values arrive, and before the first link.
        var cut: Cut?
        /// Whether it began in the middle of a message which nobody gets.
        var beginsInMessage = false

        var interruption: SessionInterruption? {
            if case .interruption(let interruption)? = cut { interruption } else { nil }
        }

        /// Whether the next consumer begins in the middle of such a message: one that looks for the ends of messages
        /// says so; one that doesn't has perhaps taken nothing.
        func leavesInMessage(_ rest: Mailbox<CharacteristicValue>.Rest) -> Bool {
            if consumer.place?.leavesInMessage == true { return true }
            return rest.isUntouched && beginsInMessage && consumer.place?.isNoted != true
        }
    }

    /// A value buffered for the next consumer.
    private struct Kept {
        let value: CharacteristicValue
        /// The gap before it.
        let gap: StreamGap?
        /// How many values were lost there, which no consumer has counted.
        var lost = 0
    }

    /// A consumer that has left in the middle of a message which nobody gets.
    private struct Torn {
        weak var consumer: Waker?
    }

    /// The values of a planned subscription that are buffered for the next consumer while there is none.
    private static let backlogLimit = 1024

    let isPlanned: Bool
    /// Ends the subscription on the present link; `nil` if it is not in place.
    var cancel: (@Sendable () -> Void)?
    var isOn = false
    /// Whether the peer has confirmed the subscription, and has not ended it since: the driver learns of that later.
    var isConfirmed = false
    /// Whether values of the present link have come, which they may before the subscription is confirmed, as where
    /// others are subscribed to the same.
    private(set) var isFlowing = false

    private var consumers = Observers<Consumer>()
    /// Those whose streams a failure of the session has ended, until they leave.
    private var ended: [Int: Consumer] = [:]
    private var backlog = Ring<Kept>()
    /// How many values were dropped before the first buffered one, and how many were lost behind the last one.
    private var dropped = 0
    /// The gaps among those that were dropped.
    private var droppedGap: StreamGap?
    private var lostBehind = 0
    /// The gap behind the last buffered value, and one that goes on. The next consumer of several subscriptions gets
    /// what was kept of each, and has the gap in each.
    private var gap: StreamGap?
    private var interruption: SessionInterruption?
    /// Whether values have come, on this link or a former one: they are buffered, or somebody has taken them.
    private var hasEarlier: Bool { hadValues || isFlowing }
    private var hadValues = false
    /// Whether the next consumer begins in the middle of a message which nobody gets, while there is none.
    private var isInMessage = false
    /// Who has left so on the present link, and would go on there: others may have stayed meanwhile.
    private var torn: [Torn] = []

    init(isPlanned: Bool) { self.isPlanned = isPlanned }

    /// Whether it is needed.
    var isWanted: Bool { isPlanned || !consumers.isEmpty }

    /// Adds a consumer; if there is no other one, it gets the buffered values.
    ///
    /// - Returns: its number, and whether it has to be woken.
    func add(_ consumer: SessionConsumer) -> (id: Int, mustWake: Bool) {
        var (entry, mustWake) = (Consumer(consumer: consumer, beginsInMessage: beginsInMessage(consumer)), false)
        if consumers.isEmpty {
            isInMessage = false
            mustWake = giveBacklog(to: consumer)
            entry.cut = interruption.take().map { .interruption($0) }
        }
        let id = consumers.add(entry)
        tellOfOthers()
        return (id, mustWake)
    }

    /// Gives a consumer, whose stream ends with the session's failure, what came before that.
    ///
    /// - Returns: its number, and whether it has to be woken; `nil` if there is nothing for it.
    func addEnded(_ consumer: SessionConsumer) -> (id: Int, mustWake: Bool)? {
        guard isPlanned, !backlog.isEmpty, consumer.takeRest != nil else { return nil }
        var entry = Consumer(consumer: consumer, beginsInMessage: beginsInMessage(consumer))
        isInMessage = false
        entry.cut = interruption.take().map { .interruption($0) }
        // A number as those of the others, but no values that come from now on.
        let id = consumers.add(entry)
        _ = consumers.remove(id)
        ended[id] = entry
        return (id, giveBacklog(to: consumer))
    }

    /// Tells each consumer whether another one goes on without it. Several streams of one consumer leave together: the
    /// last one's rest is kept.
    private func tellOfOthers() {
        let places = consumers.all.map { $0.consumer.place }
        // If one differs from the first one, each has one that differs from it.
        let areSeveral = places.contains { $0?.consumer !== places[0]?.consumer }
        for place in places { place?.hasOthers = areSeveral }
    }

    /// Whether a consumer begins in the middle of a message which nobody gets; it is told so.
    private func beginsInMessage(_ consumer: SessionConsumer) -> Bool {
        // One entry only: the consumer may have left several times, as by two streams that are merged.
        let entry = consumer.place.flatMap { place in torn.firstIndex { $0.consumer === place.consumer } }
        if let entry { torn.remove(at: entry) }
        // Who is alone goes on where the last one has left, whoever that was.
        let begins = consumers.isEmpty ? isInMessage : entry != nil
        consumer.place?.beginsInMessage = begins
        return begins
    }

    /// - Returns: whether the consumer has to be woken.
    private func giveBacklog(to consumer: SessionConsumer) -> Bool {
        var mustWake = consumer.lost(dropped)
        if let gap = droppedGap.take() { mustWake = consumer.interrupted(gap) || mustWake }
        var run: [CharacteristicValue] = []
        for kept in backlog.elements {
            if kept.gap != nil || kept.lost > 0 {
                mustWake = consumer.put(run) || mustWake
                if let gap = kept.gap { mustWake = consumer.interrupted(gap) || mustWake }
                mustWake = consumer.lost(kept.lost) || mustWake
                run = []
            }
            run.append(kept.value)
        }
        mustWake = consumer.put(run) || mustWake
        if let gap = gap.take() { mustWake = consumer.interrupted(gap) || mustWake }
        mustWake = consumer.lost(lostBehind) || mustWake
        backlog = Ring()
        (dropped, lostBehind) = (0, 0)
        return mustWake
    }

    /// Removes a consumer, to be released outside the lock. What the only one of a planned subscription has not taken
    /// is the next one's: a program that takes one message at a time loses nothing between them.
    ///
    /// - Parameter hasFailed: whether the session has failed, and was not reset.
    func remove(_ id: Int, hasFailed: Bool) -> SessionConsumer? {
        if let entry = ended.removeValue(forKey: id) {
            // Behind values of a link that follows a reset they would be out of order.
            if hasFailed || !isOn && !isFlowing { takeBack(entry) }
            return entry.consumer
        }
        guard let entry = consumers.remove(id) else { return nil }
        tellOfOthers()
        let leavesInMessage = entry.consumer.place?.leavesInMessage == true
        if isPlanned, consumers.isEmpty, let rest = entry.consumer.takeRest?() {
            keep(rest, of: entry)
            // Behind a gap and without values before it, the next one that comes begins a message.
            isInMessage = entry.leavesInMessage(rest) && (entry.cut == nil || !backlog.isEmpty)
        }
        if leavesInMessage, entry.cut == nil, let consumer = entry.consumer.place?.consumer {
            torn.removeAll { $0.consumer == nil }
            torn.append(Torn(consumer: consumer))
        }
        return entry.consumer
    }

    /// What a consumer has not taken before the session's failure is the next one's; of several, one's.
    private func takeBack(_ entry: Consumer) {
        guard consumers.isEmpty, backlog.isEmpty, let rest = entry.consumer.takeRest?() else { return }
        keep(rest, of: entry)
        isInMessage = entry.leavesInMessage(rest) && !backlog.isEmpty
    }

    private func keep(_ rest: Mailbox<CharacteristicValue>.Rest, of entry: Consumer) {
        for (value, gap) in rest.elements { append(Kept(value: value, gap: gap?.ofOneSubscription)) }
        gap = rest.gap?.ofOneSubscription
        guard hasEarlier else { return }
        if case .moved(let reason)? = entry.cut { addToGap(StreamGap(reason: reason)) }
        interruption = entry.interruption?.kept
    }

    /// - Returns: whom to wake, without a lock.
    func deliver(_ values: [CharacteristicValue], now: Duration) -> Few<Wake> {
        isFlowing = true
        guard !consumers.isEmpty else {
            for value in values { keep(value, now: now) }
            return []
        }
        var woken = showGaps(now: now)
        for entry in consumers.all where entry.consumer.put(values) { woken.append(entry.consumer.wake) }
        return woken
    }

    private func keep(_ value: CharacteristicValue, now: Duration) {
        endInterruption(now: now)
        append(Kept(value: value, gap: gap.take(), lost: lostBehind))
        lostBehind = 0
    }

    private func append(_ kept: Kept) {
        if backlog.count == Self.backlogLimit, let oldest = backlog.popFirst() {
            dropped += 1 + oldest.lost
            if let gap = oldest.gap { droppedGap = droppedGap?.merged(with: gap) ?? gap }
        }
        backlog.append(kept)
    }

    private func endInterruption(now: Duration) {
        if let interruption = interruption.take() { addToGap(interruption.gap(until: now)) }
    }

    /// Values were dropped before they arrived here. The next consumer is told where they are missing among its
    /// buffered values: told earlier, it would join what is before and behind them.
    ///
    /// - Returns: whom to wake, without a lock.
    func lost(_ count: Int) -> Few<Wake> {
        if consumers.isEmpty { lostBehind += count }
        var woken: Few<Wake> = []
        for entry in consumers.all where entry.consumer.lost(count) { woken.append(entry.consumer.wake) }
        return woken
    }

    /// PDUs of the link were dropped that may have been values, or the peer may have withheld some: whoever has a
    /// message of those before and behind must learn of it there.
    ///
    /// - Returns: whom to wake, without a lock.
    func mayLack(_ missing: StreamGap = .ofUnknownLoss) -> Few<Wake> {
        if consumers.isEmpty { addToGap(missing) }
        var woken: Few<Wake> = []
        for entry in consumers.all where entry.consumer.interrupted(missing) { woken.append(entry.consumer.wake) }
        return woken
    }

    /// Those that follow a value by reading it, while they read it.
    var readers: [SessionConsumer] { isOn ? consumers.all.map(\.consumer).filter { $0.switchedOn != nil } : [] }

    /// Values of the present link may be missing before the next one, though it goes on. If there is none before the
    /// subscription ends, only that is told.
    func moved(because reason: any Error) {
        // Without values of this link, its beginning is the gap.
        if !isOn, !isFlowing { return }
        cutMessages()
        if consumers.isEmpty, hasEarlier { addToGap(StreamGap(reason: reason)) }
        consumers.updateEach { entry in if entry.interruption == nil { entry.cut = .moved(reason) } }
    }

    /// A consumer that follows a value by reading it reads it again behind a move, and is told of the gap before that.
    ///
    /// - Returns: whom to wake, and those that read, to be told without a lock.
    func readersBehindMove() -> (woken: Few<Wake>, readers: [SessionConsumer]) {
        var (woken, readers): (Few<Wake>, [SessionConsumer]) = ([], [])
        // One that is not on yet is read when it is.
        guard isOn else { return (woken, readers) }
        consumers.updateEach { entry in
            guard entry.consumer.switchedOn != nil, case .moved(let reason)? = entry.cut else { return }
            if entry.consumer.interrupted(StreamGap(reason: reason)) { woken.append(entry.consumer.wake) }
            entry.cut = nil
            readers.append(entry.consumer)
        }
        return (woken, readers)
    }

    private func addToGap(_ missing: StreamGap) { gap = gap?.merged(with: missing) ?? missing }

    /// Nothing that comes from now on is the rest of a message that a consumer has left.
    func cutMessages() {
        torn = []
        if backlog.isEmpty { isInMessage = false }
    }

    /// The subscription is in place: the time until now is a gap.
    ///
    /// - Returns: whom to wake, and the consumers, to be told without a lock.
    func switchedOn(now: Duration) -> (woken: Few<Wake>, consumers: [SessionConsumer]) {
        isOn = true
        endInterruption(now: now)
        return (showGaps(now: now), consumers.all.map(\.consumer))
    }

    /// The link or, if there is no break of it, the subscription has ended: no consumer gets values until the next one.
    func interrupted(by reason: any Error, now: Duration, _ linkBreak: LinkBreak? = nil) {
        cancel = nil
        isConfirmed = false
        guard isOn || isFlowing else { return }
        hadValues = hasEarlier
        (isOn, isFlowing) = (false, false)
        cutMessages()
        let started = SessionInterruption(start: now, reason: reason, linkBreak: linkBreak)
        if consumers.isEmpty, hasEarlier, interruption == nil { interruption = started.kept }
        let cut = Cut.interruption(started)
        consumers.updateEach { entry in if entry.interruption == nil { entry.cut = cut } }
        for id in ended.keys where ended[id]?.interruption == nil { ended[id]?.cut = cut }
    }

    /// The reason why the link ended is known better now.
    func explained(by reason: any Error, now: Duration) {
        interruption = interruption?.explained(by: reason, now: now)
        consumers.updateEach { entry in
            guard let interruption = entry.interruption else { return }
            entry.cut = .interruption(interruption.explained(by: reason, now: now))
        }
    }

    /// Removes all consumers except those that outlive a failure of the session; the caller tells them of the end
    /// without a lock.
    ///
    /// - Parameter hasFailed: whether the session has failed: what they leave is then the next one's.
    func finish(hasFailed: Bool) -> [SessionConsumer] {
        defer { tellOfOthers() }
        if hasFailed, isPlanned {
            for (id, entry) in consumers.numbered where entry.consumer.finish != nil { ended[id] = entry }
        }
        return consumers.removeAll { $0.consumer.finish != nil }.map(\.consumer)
    }

    private func showGaps(now: Duration) -> Few<Wake> {
        var woken: Few<Wake> = []
        consumers.updateEach { entry in
            let gap: StreamGap
            switch entry.cut {
            case nil: return
            case .interruption(let interruption)?: gap = interruption.gap(until: now)
            case .moved(let reason)?: gap = StreamGap(reason: reason)
            }
            if entry.consumer.interrupted(gap) { woken.append(entry.consumer.wake) }
            entry.cut = nil
        }
        return woken
    }
}
