import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// What lies behind a failure.
@Suite struct SessionNewsTests {
    private static func error(_ code: BLEError.Code, _ reason: DisconnectReason.Kind? = nil) -> BLEError {
        var error = BLEError(code, operation: "read", cause: "it failed")
        error.reason = reason.map { DisconnectReason($0) }
        return error
    }

    @Test(
        arguments: [
            (.adapterPoweredOff, .poweredOff), (.adapterBlocked, .blocked), (.adapterNotFound, .absent),
            (.adapterNotReady, .resetting),
        ] as [(BLEError.Code, AdapterInfo.State)]
    )
    func `an error that is the adapter's is its loss, with a link and without`(
        code: BLEError.Code,
        state: AdapterInfo.State
    ) {
        let error = Self.error(code)
        for news in [SessionNews(), SessionNews(adapter: .poweredOn, linkEnd: DisconnectReason(.closedByPeer))] {
            expect(news.trigger(for: error, or: .connectFailed(error)), .adapterLost(state))
            expect(news.trigger(forFailureOnLink: error, or: .discoveryFailed(error)), .adapterLost(state))
        }
    }

    @Test func `what the adapter has become counts more than what an error says`() {
        let news = SessionNews(adapter: .blocked)
        let error = Self.error(.disconnected, .supervisionTimeout)
        expect(news.trigger(for: error, or: .connectFailed(error)), .adapterLost(.blocked))
        expect(news.trigger(forFailureOnLink: error, or: .discoveryFailed(error)), .adapterLost(.blocked))
    }

    @Test func `a failure on a link that has ended is the end of the link`() {
        let (timedOut, gone) = (Self.error(.timedOut), Self.error(.disconnected, .supervisionTimeout))
        var news = SessionNews(adapter: .poweredOn)
        expect(news.trigger(forFailureOnLink: timedOut, or: .discoveryFailed(timedOut)), .discoveryFailed(timedOut))
        let lost = SessionState.Trigger.linkLost(DisconnectReason(.supervisionTimeout))
        expect(news.trigger(forFailureOnLink: gone, or: .discoveryFailed(gone)), lost)
        let closed = DisconnectReason(.closedByPeer)
        news.linkEnd = closed
        expect(news.trigger(forFailureOnLink: timedOut, or: .discoveryFailed(timedOut)), .linkLost(closed))
        expect(news.trigger(for: timedOut, or: .connectFailed(timedOut)), .connectFailed(timedOut))
    }

    @Test func `a request that isn't answered is the end of the link, before that is told`() {
        let unanswered = Self.error(.timedOut, .transactionTimeout)
        let lost = SessionState.Trigger.linkLost(DisconnectReason(.transactionTimeout))
        expect(SessionNews().trigger(forFailureOnLink: unanswered, or: .subscriptionRefused(unanswered)), lost)
    }

    @Test func `a link that ended with its adapter is the adapter's loss`() {
        expect(SessionNews().trigger(forEnd: DisconnectReason(.adapterOff)), .adapterLost(.poweredOff))
        expect(SessionNews(adapter: .absent).trigger(forEnd: DisconnectReason(.adapterOff)), .adapterLost(.absent))
        let closed = DisconnectReason(.closedByPeer)
        expect(SessionNews(adapter: .absent).trigger(forEnd: closed), .linkLost(closed))
    }

    @Test func `the wait for an adapter ends when it is back, and begins anew when it is away otherwise`() {
        expect(SessionNews().trigger(forAdapterThatWas: .poweredOff), nil)
        expect(SessionNews(adapter: .poweredOff).trigger(forAdapterThatWas: .poweredOff), nil)
        expect(SessionNews(adapter: .absent).trigger(forAdapterThatWas: .poweredOff), .adapterLost(.absent))
        expect(SessionNews(adapter: .poweredOn).trigger(forAdapterThatWas: .absent), .adapterReturned)
    }

    /// Triggers are told apart by their kinds, and by their words.
    private func expect(
        _ trigger: SessionState.Trigger?,
        _ expected: SessionState.Trigger?,
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(trigger?.kind == expected?.kind, sourceLocation: location)
        #expect("\(trigger as Any)" == "\(expected as Any)", sourceLocation: location)
    }
}
