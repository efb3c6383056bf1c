import BLERadio
import BLESimulator
import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct GapsTests {
    @Test func `values dropped by a buffer that keeps the newest are missed before the first that is left`()
        async throws
    {
        let items = BLEStream<Int>(buffer: .newest(2)) { feed in
            feed.send(contentsOf: 1...5)
            feed.finish()
            return {}
        }.withGaps()
        #expect(try await items.collect().map(text) == ["3 dropped", "4", "5"])
    }

    @Test(arguments: 1...3) func `a consumer that is slow with each gap gets the values behind them`(
        _ room: Int
    ) async throws {
        try await VirtualTime.run { time in
            let stream = BLEStream<Int>(buffer: .newest(room), timeline: time) { feed in
                let timers = (1...100).map { number in
                    time.schedule(after: .milliseconds(100 * number)) { feed.send(number) }
                }
                return { for timer in timers { timer.cancel() } }
            }
            var (values, dropped): ([Int], Int) = ([], 0)
            for try await item in stream.withGaps().prefix(9) {
                switch item {
                case .value(let value): values.append(value)
                case .gap(let gap): dropped += gap.dropped
                }
                // More come meanwhile than have room.
                try await time.sleep(for: .seconds(1))
            }
            #expect(values.count >= 4 && values.count + dropped == values.last, "\(values), \(dropped) dropped")
            let counters = stream.counters
            #expect(counters.delivered == values.count && counters.received == counters.delivered + counters.dropped)
        }
    }

    @Test func `values dropped by a buffer that keeps the oldest are missed behind the last that is there`()
        async throws
    {
        let items = BLEStream<Int>(buffer: .oldest(2)) { feed in
            feed.send(contentsOf: 1...5)
            feed.finish()
            return {}
        }.withGaps()
        #expect(try await items.collect().map(text) == ["1", "2", "3 dropped"])
    }

    @Test func `what the kernel dropped is missed where it said so`() async throws {
        let stream = BLEStream<Int> { feed in
            feed.send(contentsOf: 1...2)
            feed.lost(7)
            feed.lost(3)
            feed.send(3)
            feed.finish()
            return {}
        }
        #expect(try await stream.withGaps().collect().map(text) == ["1", "2", "10 dropped", "3"])
        #expect(stream.counters.received == 13)
        #expect(stream.counters.dropped == 10)
        #expect(stream.counters.delivered == 3)
    }

    @Test func `gaps that nothing lies between are one`() async throws {
        let items = BLEStream<Int>(buffer: .newest(1)) { feed in
            feed.send(1)
            feed.interrupted(by: Stage.failure, for: .seconds(2))
            feed.send(2)
            feed.lost(1)
            feed.interrupted(by: Stage.failure, for: .seconds(3))
            feed.send(3)
            feed.finish()
            return {}
        }.withGaps()
        #expect(try await items.collect().map(text) == ["3 dropped in 5.0 seconds", "3"])
    }

    @Test func `gaps take no room, however many`() async throws {
        let stream = BLEStream<Int>(buffer: .newest(1)) { feed in
            for number in 1...1000 {
                feed.interrupted(by: Stage.failure, for: .seconds(1))
                feed.send(number)
            }
            feed.finish()
            return {}
        }
        #expect(try await stream.withGaps().collect().map(text) == ["999 dropped in 1000.0 seconds", "1000"])
        #expect(stream.counters.highWaterMark == 1)
    }

    @Test func `a gap alone wakes who asks`() async throws {
        let played = try await play(Consumer(breaksAfter: 2)) { $0.source("--~--?---").withGaps() }
        #expect(played.output == "--~--?")
    }

    private func text(_ item: Gapped<Int>) -> String {
        switch item {
        case .value(let value): "\(value)"
        case .gap(let gap): "\(gap.dropped) dropped" + (gap.reason == nil ? "" : " in \(gap.duration)")
        }
    }
}
