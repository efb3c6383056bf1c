/// The notifications that wait for one client, in order, and the counts of all its notifications.
///
/// A value without room is refused or dropped, or replaces an older one, as its ``Bound`` says. From then on, until
/// nothing waits any more, the client is behind.
struct NotificationQueue: Sendable {
    /// A value that waits; it is cut to the MTU only when it is sent.
    typealias Value = ServerOutbox.Value

    /// The content of one notification.
    enum Notice: Sendable {
        case one(Value)
        /// One PDU if they fit, otherwise one for each.
        case together([Value])

        /// How many values it has.
        var count: Int {
            switch self {
            case .one: 1
            case .together(let values): values.count
            }
        }

        func count(of handle: UInt16) -> Int {
            switch self {
            case .one(let value): value.handle == handle ? 1 : 0
            case .together(let values): values.count { $0.handle == handle }
            }
        }

        /// The rest of it without the first few values of a characteristic.
        fileprivate func without(_ handle: UInt16, atMost count: inout Int) -> Notice? {
            switch self {
            case .one(let value):
                guard value.handle == handle, count > 0 else { return self }
                count -= 1
                return nil
            case .together(let values):
                var rest: [Value] = []
                for value in values {
                    if value.handle == handle, count > 0 { count -= 1 } else { rest.append(value) }
                }
                return rest.isEmpty ? nil : .together(rest)
            }
        }
    }

    /// A notification that waits.
    private struct Waiting: Sendable {
        var notice: Notice
        /// Whether its bound is ``ATTServer/Bound/shared``.
        var isShared: Bool
        /// How many were added before it.
        var number: Int
    }

    private(set) var counts = ATTServer.NotificationCounts()
    /// How often all waiting values of a characteristic were dropped, and how many values of it in all, by its value
    /// handle.
    private var breaks: [UInt16: ATTServer.Breaks] = [:]
    /// How often ATT_MTU has become smaller.
    private var narrowings = 0
    /// The waiting notifications, from `first` on; those before have been taken.
    private var notices: [Waiting?] = []
    private var first = 0
    /// How many of them share their bound.
    private(set) var sharedCount = 0
    /// How many notifications were ever added.
    private(set) var added = 0
    /// The number of the one that was taken last.
    private var taken = 0

    /// How many notifications wait.
    var count: Int { notices.count - first }
    var isEmpty: Bool { count == 0 }

    /// How many were added before the next one to take.
    var next: Int { first < notices.count ? notices[first]?.number ?? added : added }
}

// MARK: - In

extension NotificationQueue {
    /// Adds a notification, if it may wait; each of several values counts.
    ///
    /// - Parameter limit: how many notifications whose bound is ``ATTServer/Bound/shared`` may wait; `nil`: no limit,
    ///   for values that follow one that has found room.
    /// - Returns: whether it waits, and how many values were dropped for it; `nil`: it must be tried again, and is not
    ///   counted.
    mutating func add(_ notice: Notice, _ bound: ATTServer.Bound, limit: Int?) -> ATTServer.Queued? {
        let dropped: Int
        switch bound {
        case .shared:
            // A group needs room for one, so that one that is larger than the queue can be sent at all.
            guard limit.map({ sharedCount < $0 }) ?? true else {
                fallBehind()
                return nil
            }
            dropped = 0
        case .window(let most):
            // Its sender waits for room, so the client is not behind.
            guard waiting(like: notice, most) < max(1, most) else { return nil }
            dropped = 0
        case .unbounded: dropped = 0
        case .newest(let most): dropped = makeRoom(for: notice, most)
        case .oldest(let most):
            guard waiting(like: notice, most) < max(1, most) else {
                countDropped(notice.count)
                return ATTServer.Queued(isQueued: false, dropped: notice.count)
            }
            dropped = 0
        }
        counts.offered += notice.count
        append(notice, isShared: bound == .shared)
        return ATTServer.Queued(isQueued: true, dropped: dropped)
    }

    private mutating func append(_ notice: Notice, isShared: Bool) {
        if isShared { sharedCount += 1 }
        notices.append(Waiting(notice: notice, isShared: isShared, number: added))
        added += 1
    }

    /// Puts notifications that are already counted before all others.
    mutating func putBack(_ values: [Value]) {
        notices.replaceSubrange(..<first, with: values.map { Waiting(notice: .one($0), isShared: true, number: taken) })
        first = 0
        sharedCount += values.count
    }

    /// Counts values for the client that found no room.
    mutating func countDropped(_ count: Int) {
        counts.offered += count
        counts.dropped += count
        fallBehind()
    }

    private mutating func fallBehind() {
        if !counts.isBehind { counts.changes += 1 }
    }

    /// How many values of the same characteristic wait; at least that many where it doesn't matter how many more.
    private func waiting(like notice: Notice, _ most: Int) -> Int {
        guard case .one(let value) = notice, count >= max(1, most) else { return 0 }
        return waiting(of: value.handle)
    }

    /// How many values of a characteristic wait.
    func waiting(of handle: UInt16) -> Int {
        notices[first...].reduce(0) { $0 + ($1?.notice.count(of: handle) ?? 0) }
    }

    /// Drops the oldest values of the same characteristic beyond the bound. Returns how many.
    private mutating func makeRoom(for notice: Notice, _ most: Int) -> Int {
        guard case .one(let value) = notice else { return 0 }
        let surplus = waiting(like: notice, most) - max(1, most) + 1
        guard surplus > 0 else { return 0 }
        drop(value.handle, atMost: surplus)
        breaks[value.handle, default: ATTServer.Breaks()].displace(surplus)
        fallBehind()
        return surplus
    }
}

// MARK: - Out

extension NotificationQueue {
    /// Takes the next one.
    mutating func take() -> Notice? {
        guard first < notices.count, let next = notices[first] else { return nil }
        if next.isShared { sharedCount -= 1 }
        taken = next.number
        notices[first] = nil
        first += 1
        if first > 32, first > notices.count / 2 {
            notices.removeFirst(first)
            first = 0
        }
        return next.notice
    }

    /// Drops all waiting values of a characteristic, to which the client is no longer subscribed.
    mutating func drop(_ handle: UInt16) {
        let before = counts.dropped
        drop(handle, atMost: .max)
        breaks[handle, default: ATTServer.Breaks()].add(dropped: counts.dropped - before)
    }

    /// Whether a value of a characteristic waits.
    func contains(_ handle: UInt16) -> Bool { notices[first...].contains { ($0?.notice.count(of: handle) ?? 0) > 0 } }

    /// What has broken off the values of a characteristic so far.
    func breaks(of handle: UInt16) -> ATTServer.Breaks {
        var breaks = self.breaks[handle] ?? ATTServer.Breaks()
        breaks.narrowings = narrowings
        return breaks
    }

    mutating func mtuBecameSmaller() { narrowings += 1 }

    private mutating func drop(_ handle: UInt16, atMost most: Int) {
        var left = most
        let rest: [Waiting] = notices[first...].compactMap { waiting in
            guard let waiting, let notice = waiting.notice.without(handle, atMost: &left) else { return nil }
            return Waiting(notice: notice, isShared: waiting.isShared, number: waiting.number)
        }
        (notices, first, sharedCount) = (rest, 0, rest.count(where: \.isShared))
        counts.dropped += most - left
    }

    /// The link has taken this many values.
    mutating func sent(_ count: Int) { counts.sent += count }

    /// Sending has ended: what waits is dropped, and what was handed out.
    mutating func end(handedOut: Int) {
        counts.dropped += handedOut + notices[first...].reduce(0) { $0 + ($1?.notice.count ?? 0) }
        (notices, first, sharedCount) = ([], 0, 0)
        if counts.isBehind { counts.changes += 1 }
    }

    /// Whether a client that was behind has everything now.
    mutating func catchesUp() -> Bool {
        guard counts.isBehind, counts.waiting == 0 else { return false }
        counts.changes += 1
        return true
    }
}

extension ATTServer {
    /// Where a value may wait.
    package enum Bound: Hashable, Sendable {
        /// Among ``Limits/notifications`` of all characteristics with this bound; refused as ``SendRefusal/full`` if
        /// there is no room.
        case shared
        /// Among this many of its characteristic; refused as ``SendRefusal/full`` if there is no room.
        case window(Int)
        /// Without a limit but memory.
        case unbounded
        /// Among this many of its characteristic; the oldest one makes room.
        case newest(Int)
        /// Among this many of its characteristic; dropped if there is no room.
        case oldest(Int)
    }

    /// What has broken off the values of a characteristic: the ends of subscriptions to it, values that made room for
    /// newer ones, and an ATT_MTU that has become smaller.
    package struct Breaks: Hashable, Sendable {
        private var ends = 0
        private var dropped = 0
        fileprivate var narrowings = 0

        fileprivate mutating func add(dropped: Int) {
            ends += 1
            self.dropped += dropped
        }

        fileprivate mutating func displace(_ count: Int) { dropped += count }

        /// Whether the subscription is still the same one as before.
        package func isSameSubscription(as before: Breaks) -> Bool { ends == before.ends }

        /// Whether no value that has waited since then was dropped.
        package func hasDroppedNothing(since before: Breaks) -> Bool { dropped == before.dropped }

        /// Whether no value that has waited since then can have been cut, if it was not too long at first.
        package func hasCutNothing(since before: Breaks) -> Bool { narrowings == before.narrowings }
    }

    /// The outcome of queueing a value.
    package struct Queued: Hashable, Sendable {
        /// Whether it waits for its turn.
        package var isQueued: Bool
        /// How many values were dropped: older ones for this one, or this one.
        package var dropped: Int
    }

    /// The counts of the notifications for one client: each was sent, was dropped, or waits.
    package struct NotificationCounts: Hashable, Sendable {
        /// Values that were meant for it.
        package var offered = 0
        /// Values that the link has taken.
        package var sent = 0
        /// Values that the client never gets.
        package var dropped = 0
        /// How often the client has fallen behind or caught up; initially it is not behind.
        package var changes = 0

        /// Values that wait, including the one that is being passed to the link.
        package var waiting: Int { offered - sent - dropped }
        /// Whether a value has found no room since nothing waited last.
        package var isBehind: Bool { !changes.isMultiple(of: 2) }

        package init() {}
    }
}
