import Glibc
import Interruption
import Testing

/// What a signal asks for, after those that have come before it.
@Suite struct SignalHistoryTests {
    private let start = ContinuousClock.Instant.now

    /// What signals ask for that come one after the other, at these times.
    private func demands(_ signals: (Int32, Duration)...) -> [SignalHistory.Demand] {
        var history = SignalHistory()
        return signals.map { number, time in history.received(number, at: start + time) }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a second signal ends the program at once, except one of the same event`(_ number: Int32) {
        let first: SignalHistory.Demand = number == SIGINT ? .endWork : .endAllWork
        // `timeout` sends its signal to its child, and to the group that the child is in.
        #expect(demands((number, .zero), (number, .milliseconds(499))) == [first, .nothing])
        #expect(demands((number, .zero), (number, SignalHistory.period)) == [first, .exit])
        #expect(demands((number, .zero), (number, .zero), (number, SignalHistory.period)) == [first, .nothing, .exit])
    }

    @Test func `a terminal that closes never ends the program at once`() {
        // A shell may take its time before it ends, too.
        #expect(demands((SIGHUP, .zero), (SIGHUP, .seconds(3))) == [.endAllWork, .nothing])
        #expect(demands((SIGTERM, .zero), (SIGHUP, .seconds(3))) == [.endAllWork, .nothing])
    }

    @Test(arguments: [SIGTERM, SIGHUP])
    func `what ends all work does so even right behind Ctrl-C`(_ number: Int32) {
        #expect(demands((SIGINT, .zero), (number, .milliseconds(1))) == [.endWork, .endAllWork])
    }

    @Test func `behind interrupted work a signal is the first again, unless all work is to end`() {
        var history = SignalHistory()
        let first = history.received(SIGINT, at: start)
        let mayGoOn = history.forget()
        #expect(first == .endWork && mayGoOn && !history.hasCome)
        let next = history.received(SIGTERM, at: start + .seconds(5))
        let mayStillGoOn = history.forget()
        #expect(next == .endAllWork && !mayStillGoOn && history.hasCome && history.endsAll)
    }
}
