/// A place in a stream where values are missing; see ``BLEStream/withGaps()``.
public struct StreamGap: Sendable {
    /// Why nothing could be received for some time, or why values may be missing; `nil` if values were only dropped.
    public var reason: (any Error)?

    /// For how long nothing could be received; zero if values were only dropped, or if the peripheral's services
    /// changed and the subscription was made anew.
    public var duration: Duration

    /// How many values arrived and were dropped here, by the stream's buffer or by the kernel.
    ///
    /// Values that the peer sent while there was no link are not counted.
    public var dropped: Int

    /// Whether PDUs of the link are missing here and nobody knows whose they were: values of this stream, those of
    /// another subscription, or an answer. The kernel has dropped them, an earlier program had the link, or the peer
    /// has withheld them. A consumer of values is told of that only if there is a reason; a message may have a hole.
    var mayLackValues = false
    /// Whether the peer may have withheld them, because it had not told of a change of its services yet.
    var mayBeWithheld = false
    /// Whether a consumer is told of it also if another subscription has told of its breaks.
    private(set) var isOfOneSubscription = false

    /// The breaks of links that it is, each of which other subscriptions report too; none if it has another reason. The
    /// latest ones, of many: a link may be lost every second for as long as a consumer takes nothing.
    var breaks: [LinkBreak] = []

    /// How many breaks are told apart, far more than other subscriptions are behind.
    static let mostBreaks = 64

    /// Makes a gap.
    package init(reason: (any Error)? = nil, duration: Duration = .zero, dropped: Int = 0) {
        self.reason = reason
        self.duration = duration
        self.dropped = dropped
    }

    /// Merges two gaps that have no value between them.
    func merged(with next: StreamGap) -> StreamGap {
        var sum = StreamGap(
            reason: reason ?? next.reason,
            duration: duration + next.duration,
            dropped: dropped + next.dropped
        )
        sum.mayLackValues = mayLackValues || next.mayLackValues
        sum.mayBeWithheld = mayBeWithheld || next.mayBeWithheld
        sum.isOfOneSubscription = isOfOneSubscription || next.isOfOneSubscription
        guard isWithoutOtherReason, next.isWithoutOtherReason else { return sum }
        let others = next.breaks.filter { other in !breaks.contains { $0 === other } }
        // The time of a break that both report counts once.
        if others.isEmpty, !next.breaks.isEmpty { sum.duration = max(duration, next.duration) }
        sum.breaks = breaks + others
        if sum.breaks.count > Self.mostBreaks { sum.breaks.removeFirst(sum.breaks.count - Self.mostBreaks) }
        return sum
    }

    private var isWithoutOtherReason: Bool { reason == nil || !breaks.isEmpty }

    /// A place where values may be missing: see ``mayLackValues``.
    static var ofUnknownLoss: StreamGap {
        var gap = StreamGap()
        gap.mayLackValues = true
        return gap
    }

    /// A place where the peer may have withheld values.
    static func ofWithheldValues(of object: String) -> StreamGap {
        var gap = ofUnknownLoss
        gap.mayBeWithheld = true
        gap.reason = BLEError.valuesWithheld(object)
        return gap
    }

    /// Whether a message that goes on behind it may have a hole.
    @usableFromInline var mayTearMessages: Bool { dropped > 0 || mayLackValues }

    /// Whether a consumer of values is told of it.
    var concernsValues: Bool { reason != nil || dropped > 0 || !mayLackValues }

    /// What it is besides the breaks of links; `nil` if that is nothing.
    var withoutBreaks: StreamGap? {
        guard mayTearMessages else { return nil }
        var rest = StreamGap(dropped: dropped)
        (rest.mayLackValues, rest.mayBeWithheld) = (mayLackValues, mayBeWithheld)
        return rest
    }

    /// The same for a consumer that gets what was kept, one subscription after the other: each has its own gap.
    var ofOneSubscription: StreamGap {
        var gap = self
        gap.isOfOneSubscription = true
        return gap
    }
}
