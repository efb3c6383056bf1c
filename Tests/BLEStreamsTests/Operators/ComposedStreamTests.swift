import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// Operators composed at random, compared with ``ReferenceStream``: each element and each gap, with its time, and when
/// the sources are opened and closed.
///
/// `STREAM_SEEDS=10000 swift test --filter ComposedStreamTests` plays as many compositions as are wanted.
@Suite(.timeLimit(.minutes(30))) struct ComposedStreamTests {
    private static let seeds = max(StreamsInTurnTests.seeds, 1500)

    @Test func `operators that are composed at random do what each of them promises`() async throws {
        for seed in 1...Self.seeds {
            var composer = Composer(seed: seed)
            let play = composer.play()
            let expected = ReferenceStream.Stage(play).outcome()
            var found = try await Self.outcome(of: play, seed: seed)
            // What happens in one microsecond may come in another order.
            for another in 1...5 where found != expected {
                found = try await Self.outcome(of: play, seed: seed * 1000 + UInt64(another))
            }
            #expect(found == expected, "seed \(seed): \(play)")
        }
    }

    private static func outcome(of play: ComposedPlay, seed: UInt64) async throws -> ComposedPlay.Outcome {
        try await VirtualTime.run(seed: seed) { time in
            let stage = ComposedStage(play, time)
            let stream = stage.build(play.stream)
            let seen = await withTaskGroup { group in
                for (number, consumer) in play.consumers.enumerated() {
                    group.addTask { (number, await consume(stream, consumer, stage)) }
                }
                var seen = play.consumers.map { _ in [String]() }
                for await (number, lines) in group { seen[number] = lines }
                return seen
            }
            #expect(time.timerCount == 0, "a timer is left: seed \(seed)")
            let counters = play.compared(stream.counters)
            return ComposedPlay.Outcome(seen: seen, openings: stage.openings, counters: counters)
        }
    }

    private static func consume(
        _ stream: BLEStream<Int>,
        _ consumer: ComposedPlay.Consumer,
        _ stage: ComposedStage
    ) async -> [String] {
        let task = Task(executorPreference: stage.time) {
            var seen = ComposedSight(in: stage.play)
            await stage.work(for: consumer.begins)
            do {
                for try await item in stream.withGaps() {
                    guard seen.add(item, at: stage.now) else { continue }
                    if seen.count == consumer.leavesAfter { return seen.lines }
                    if consumer.busy > 0 { await stage.work(for: consumer.busy) }
                }
                seen.add("end", at: stage.now)
            } catch {
                seen.add(ReferenceStream.text(of: error), at: stage.now)
            }
            return seen.lines
        }
        let alarm = stage.time.schedule(after: .microseconds(consumer.isCancelled)) { task.cancel() }
        defer { alarm.cancel() }
        return await task.value
    }
}

/// Composes plays at random; the same ones for the same seed.
private struct Composer {
    private var chance: Chance
    private var sources: [ComposedPlay.Source] = []
    private var lastElement = 0

    init(seed: UInt64) { chance = Chance(seed: seed) }

    mutating func play() -> ComposedPlay {
        let isShared = chance.below(3) == 0
        let stream = stream(depth: 1 + chance.below(4))
        let replay = chance.below(3)
        let consumers = (0..<(isShared ? 2 : 1)).map { _ in
            ComposedPlay.Consumer(
                begins: time(1_500_000),
                busy: chance.below(2) == 0 ? 0 : time(500_000),
                leavesAfter: chance.below(3) == 0 ? 1 + chance.below(5) : .max,
                isCancelled: chance.below(4) == 0 ? time(3_000_000) : 6_000_000 + time(1_000_000)
            )
        }
        let all = isShared ? ComposedStream.share(replay: replay, stream) : stream
        return ComposedPlay(sources: sources, stream: all, consumers: consumers)
    }

    private mutating func time(_ bound: Int) -> Int { 1 + chance.below(bound) }

    private mutating func policy() -> BufferPolicy {
        switch chance.below(4) {
        case 0: .newest(1 + chance.below(3))
        case 1: .oldest(1 + chance.below(3))
        case 2: .fail(1 + chance.below(4))
        default: .unbounded
        }
    }

    private mutating func stream(depth: Int) -> ComposedStream {
        guard depth > 0 else {
            sources.append(ComposedPlay.Source(scripts: (0...chance.below(3)).map { _ in script() }, buffer: policy()))
            return .source(sources.count - 1)
        }
        let upstream = stream(depth: depth - 1)
        switch chance.below(18) {
        case 0: return .filter(2 + chance.below(3), upstream)
        case 1: return .prefix(chance.below(5), upstream)
        case 2: return .prefixFor(time(2_000_000), upstream)
        case 3: return .batched(1 + chance.below(4), upstream)
        case 4, 5: return .throttle(time(400_000), upstream)
        case 6, 7: return .debounce(time(200_000), upstream)
        case 8: return .timeout(time(800_000), upstream)
        case 9, 10: return .buffered(policy(), upstream)
        case 11, 12, 13: return .retry(pause: time(200_000), attempts: 1 + chance.below(4), upstream)
        case 14: return .zip(upstream, stream(depth: depth - 1))
        case 15: return .combineLatest(upstream, stream(depth: depth - 1))
        case 16: return .takeUntil(upstream, stream(depth: depth - 1))
        default: return .flatMap(upstream, stream(depth: 0))
        }
    }

    private mutating func script() -> ComposedPlay.Script {
        var script: ComposedPlay.Script = []
        var after = 0
        for _ in 0..<chance.below(9) {
            after += time(chance.below(2) == 0 ? 100_000 : 700_000)
            script.append((after, (0...chance.below(4)).map { _ in event() }))
        }
        after += time(300_000)
        switch chance.below(7) {
        case 0...2: script.append((after, [.end]))
        case 3...5: script.append((after, [.failure]))
        default: break
        }
        return script
    }

    private mutating func event() -> ComposedPlay.Event {
        switch chance.below(8) {
        case 0: return .lost(1 + chance.below(3))
        case 1: return .interrupted(time(1000))
        default:
            let count = chance.below(4) == 0 ? 1 + chance.below(12) : 1
            lastElement += count
            return .elements(Array(lastElement - count..<lastElement))
        }
    }
}
