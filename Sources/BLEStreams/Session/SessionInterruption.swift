import BLEProtocol

/// A time in which a consumer of a session can't receive: the gap that goes on.
struct SessionInterruption {
    let start: Duration
    private(set) var reason: any Error
    /// `nil` if only this subscription reports it.
    let linkBreak: LinkBreak?
    /// Whether the next consumer is told of it, who gets what was kept of each subscription.
    private var isKept = false

    init(start: Duration, reason: any Error, linkBreak: LinkBreak? = nil) {
        self.start = start
        self.reason = reason
        self.linkBreak = linkBreak
    }

    func gap(until now: Duration) -> StreamGap {
        var gap = StreamGap(reason: reason, duration: now - start)
        if let linkBreak { gap.breaks = [linkBreak] }
        return isKept ? gap.ofOneSubscription : gap
    }

    /// The same for the next consumer.
    var kept: SessionInterruption {
        var kept = self
        kept.isKept = true
        return kept
    }

    /// How long Linux may take from the end of an adapter's links to the adapter's own.
    private static let longestEnd = Duration.seconds(2)

    /// The same with a reason that is known better now: an adapter that is switched off ends its links first, and they
    /// look as if they had been closed.
    func explained(by reason: any Error, now: Duration) -> SessionInterruption {
        let end = (self.reason as? BLEError)?.reason?.kind
        guard end == .closedByPeer || end == .closedLocally, now - start <= Self.longestEnd else { return self }
        var known = self
        known.reason = reason
        return known
    }
}
