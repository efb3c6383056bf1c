import Testing

@testable import BLEStreams

@Suite struct ConnectPaceTests {
    private static func failure(
        _ code: BLEError.Code,
        _ kind: DisconnectReason.Kind,
        wasHeard: Bool = false,
        wasResumed: Bool = false
    ) -> ConnectPace.Failure {
        var error = BLEError(code, operation: "connect", cause: "it failed")
        error.reason = DisconnectReason(kind)
        return ConnectPace.Failure(error, wasHeard: wasHeard, wasResumed: wasResumed)
    }

    private static let lost = failure(.disconnected, .failedToEstablish)

    @Test func `three tries follow at once, then pauses that grow up to four seconds`() {
        var pace = ConnectPace(true)
        // In the middle of what chance allows.
        let pauses = (0..<10).map { _ in pace.pause(after: Self.lost, random: 1 << 63) }
        let expected = [0, 0, 0, 250, 500, 1000, 2000, 4000, 4000, 4000].map { Duration.milliseconds($0) }
        #expect(pauses == expected)
        #expect(pace.failures == 10)
    }

    @Test func `a connection that the radio itself calls lost counts like a link that was`() {
        var pace = ConnectPace(true)
        #expect(pace.pause(after: Self.failure(.connectionFailed, .failedToEstablish), random: 0) == .zero)
        #expect(pace.failures == 1)
    }

    @Test func `what was heard, or failed otherwise, is not tried again`() {
        var pace = ConnectPace(true)
        for failure in [
            Self.failure(.disconnected, .failedToEstablish, wasHeard: true),
            Self.failure(.disconnected, .closedByPeer),
            Self.failure(.disconnected, .supervisionTimeout),
            Self.failure(.connectionFailed, .other),
            Self.failure(.timedOut, .failedToEstablish),
        ] {
            #expect(pace.pause(after: failure, random: 0) == nil)
        }
        #expect(pace.failures == 0)
    }

    @Test func `a link of an earlier program that ends is made afresh, three times at most`() {
        var pace = ConnectPace(true)
        let resumed = Self.failure(.disconnected, .closedByPeer, wasHeard: true, wasResumed: true)
        #expect((0..<4).map { _ in pace.pause(after: resumed, random: 0) } == [.zero, .zero, .zero, nil])
    }

    @Test func `so is one that had to be closed because nothing is answered on it any more`() {
        var pace = ConnectPace(true)
        let unanswered = Self.failure(.timedOut, .transactionTimeout, wasResumed: true)
        #expect((0..<4).map { _ in pace.pause(after: unanswered, random: 0) } == [.zero, .zero, .zero, nil])
        // On one of this program's own, it is the peer's fault.
        var own = ConnectPace(true)
        #expect(own.pause(after: Self.failure(.timedOut, .transactionTimeout), random: 0) == nil)
    }

    @Test func `who has rules of its own is told each time`() {
        var pace = ConnectPace(false)
        #expect(pace.pause(after: Self.lost, random: 0) == nil)
        #expect(pace.failures == 1)
    }
}
