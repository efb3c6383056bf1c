import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// Durations that mean "without limit", and others that no timer of the system holds.
@Suite(.timeLimit(.minutes(10))) struct LongestDurationTests {
    /// The last one is between the longest in whole nanoseconds and the next second.
    private static let durations: [Duration] = [
        .seconds(Int64.max), .milliseconds(Int64.max), .nanoseconds(Int64.max), .milliseconds(9_223_372_036_900),
    ]

    @Test(arguments: durations) func `a timer of real time can be set, and doesn't fire`(duration: Duration)
        async throws
    {
        let fired = Recorder<Void>()
        let timers = [duration, duration + .seconds(1)].map { RealTimeline().schedule(after: $0) { fired.add(()) } }
        try await RealTimeline().clock.sleep(for: .milliseconds(5))
        for timer in timers { timer.cancel() }
        #expect(fired.all.isEmpty)
    }

    @Test(arguments: durations) func `a pause can be as long, with its random part`(duration: Duration) throws {
        for policy in [RetryPolicy.constant(duration), .exponential(from: duration, to: duration)] {
            let pause = try #require(policy.delay(afterFailure: 9, random: .max))
            RealTimeline().schedule(after: pause) {}.cancel()
            let state = SessionState.disconnected(.waitingToReconnect(attempt: 9, until: .delay(pause)))
            #expect("\(state)".hasPrefix("waiting to reconnect (failure 9, "))
        }
    }

    @Test(arguments: durations) func `every limit and pause of a session and its queue can be as long`(
        duration: Duration
    ) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            (plan.limits.search, plan.limits.connect, plan.limits.discover) = (duration, duration, duration)
            (plan.limits.initialise, plan.limits.subscribe) = (duration, duration)
            plan.reconnecting = .constant(duration)
            plan.isKept = true
            try await bench.central.withSession(plan) { session in
                try await session.ready(timeout: duration)
                let queue = session.queue.timingOut(after: duration)
                let read = CommandBlock.read(Bench.readable).timeout(duration).retry(.constant(duration))
                let value = try await queue.run(read, deadline: duration)
                #expect(value.bytes == [1, 2, 3])
                bench.air.faults.add(.dropLink(after: .zero))
                let lost = try await session.states.first { $0.state.kind == .waitingToReconnect }
                #expect("\(lost.state)".hasPrefix("waiting to reconnect (failure 1, "))
                // It doesn't have to wait for so long.
                try session.connect()
                let values = session.notifications(of: Bench.notifying).timeout(duration).throttle(for: duration)
                _ = try await values.prefix(for: duration).first()
            }
        }
    }
}
