import BLESimulator
import BLEStreams
import Testing

/// Queues whose decorators, commands, links, cancellations and ends are chosen at random, compared with
/// ``ReferenceQueue``: each step with its time, how each command ends, and when links are made and ended.
///
/// `STREAM_SEEDS=10000 swift test --filter ComposedQueueTests` plays as many as are wanted.
@Suite(.timeLimit(.minutes(30))) struct ComposedQueueTests {
    private static let seeds = max(StreamsInTurnTests.seeds, 150)

    @Test func `commands that are composed at random do what their queue promises`() async throws {
        for seed in 1...Self.seeds {
            var composer = QueueComposer(seed: seed)
            let play = composer.play()
            let expected = ReferenceQueue(play).outcomeOfAll()
            var found = try await Self.outcome(of: play, seed: seed)
            // What happens in one microsecond may come in another order.
            for another in 1...3 where found != expected {
                found = try await Self.outcome(of: play, seed: seed * 1000 + UInt64(another))
            }
            #expect(found == expected, "seed \(seed): \(play)")
        }
    }

    private static func outcome(of play: ComposedQueuePlay, seed: UInt64) async throws -> ComposedQueuePlay.Outcome {
        try await VirtualTime.run(seed: seed) { time in
            let stage = ComposedQueueStage(play, time)
            let radio = ComposedQueueRadio(play, time)
            let ends = try await stage.run(on: radio)
            #expect(time.timerCount == 0, "a timer is left: seed \(seed)")
            return ComposedQueuePlay.Outcome(
                steps: stage.steps.all,
                ends: ends,
                links: radio.log.all.sorted(),
                progress: stage.progress.all
            )
        }
    }
}
