import BLEProtocol
import BLERadio
import BLESimulator
import Synchronization
import Testing

@testable import BLEStreams

/// A program that was stopped, or whose machine slept, finds its timers over and its answers unread.
@Suite(.timeLimit(.minutes(10))) struct LateAlarmTests {
    /// Virtual time in which a program may be stopped.
    private final class StoppedTimeline: Timeline {
        private let time: VirtualTime
        private let stopped = Mutex(Duration.zero)

        init(_ time: VirtualTime) { self.time = time }

        var now: Duration { time.now + stopped.withLock { $0 } }
        var wallTime: ReceptionTime { time.wallTime }
        var clock: any Clock<Duration> { time.clock }
        func randomBits() -> UInt64 { time.randomBits() }

        func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
            time.schedule(after: delay, body)
        }

        /// What was to happen meanwhile happens that much later.
        func stop(for duration: Duration) { stopped.withLock { $0 += duration } }
    }

    @Test(arguments: [true, false])
    func `an answer that came while the program was stopped is taken, though its time is over`(isAnswered: Bool)
        async throws
    {
        try await VirtualTime.run(seed: 1) { time in
            let (timeline, link) = (StoppedTimeline(time), FakeLink(answers: [.sent]))
            defer { link.end() }
            let bearer = Bearer(
                link,
                timeline: timeline,
                database: SharedDatabase(AttributeDatabase(services: [])),
                Bearer.Surroundings()
            )
            bearer.start()
            let outcomes = Recorder<Bool>()
            let caller = OperationCallback { result in
                if case .success = result { outcomes.add(true) } else { outcomes.add(false) }
            }
            bearer.begin(.aside(ReadValue(handle: 3)), for: caller)
            timeline.stop(for: .seconds(40))
            try await time.sleep(for: .seconds(30) + .milliseconds(100))
            #expect(bearer.end == nil && outcomes.all.isEmpty)
            if isAnswered { link.receive([0x0B, 7]) }
            try await time.sleep(for: .seconds(60))
            #expect(outcomes.all == [isAnswered])
            let end: DisconnectReason.Kind? = isAnswered ? nil : .transactionTimeout
            #expect(bearer.end?.kind == end)
        }
    }
}
