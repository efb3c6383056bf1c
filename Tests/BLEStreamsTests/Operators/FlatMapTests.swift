import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct FlatMapTests {
    @Test func `one stream comes after the other, in order`() async throws {
        let played = try await play { stage in
            stage.source("ab|").flatMap { name in stage.source("-1-2|").map { name + $0 } }
        }
        #expect(played.output == "-[a1]-[a2]-[b1]-[b2]|")
        #expect(played.openings == ["0..<8", "0..<4", "4..<8"])
        #expect(played.closings == [1, 1, 1])
    }

    @Test func `as many are open at once as were asked for`() async throws {
        let played = try await play { stage in
            stage.source("abc|").flatMap(merging: 2) { name in stage.source("--x|").map { _ in name } }
        }
        #expect(played.output == "--ab-c|")
        #expect(played.openings == ["0..<4", "0..<3", "1..<4", "3..<6"])
        #expect(played.closings == [1, 1, 1, 1])
    }

    @Test func `inner streams that always have something take turns`() async throws {
        let all = BLEStream(["a", "b", "c"]).flatMap(merging: 2) { BLEStream(repeatElement($0, count: .max)) }
        #expect(try await all.collect(6) == ["a", "b", "a", "b", "a", "b"])
    }

    @Test func `the first error of an inner stream ends all`() async throws {
        let played = try await play { stage in
            stage.source("a-b---").flatMap(merging: 2) { stage.source($0 == "a" ? "1---5" : "-#") }
        }
        #expect(played.output == "1--#")
        #expect(played.openings == ["0..<3", "0..<3", "2..<3"])
        #expect(played.closings == [1, 1, 1])
    }

    @Test func `an error of the upstream ends all where there is room for another stream`() async throws {
        let wide = try await play { stage in stage.source("a-#").flatMap(merging: 2) { _ in stage.source("1---2|") } }
        #expect(wide.output == "1-#")
        #expect(wide.closings == [1, 1])
        let narrow = try await play { stage in stage.source("a-#").flatMap { _ in stage.source("1---2|") } }
        #expect(narrow.output == "1---2#")
    }

    @Test func `an error comes behind what waits of the open inner streams`() async throws {
        let upstream = try await play(Consumer(isBusyFor: 6)) { stage in
            stage.source("a--#").flatMap(merging: 2) { _ in stage.source("1234-------5") }
        }
        #expect(upstream.output == "1-----2-----3-----4-----#")
        #expect(upstream.closings == [1, 1])
        let inner = try await play(Consumer(isBusyFor: 6)) { stage in
            stage.source("ab---").flatMap(merging: 2) { stage.source($0 == "a" ? "12#" : "-345-|") }
        }
        #expect(inner.output == "1-----2-----3-----4-----5-----#")
        #expect(inner.closings == [1, 1, 1])
        let closure = try await play(Consumer(isBusyFor: 6)) { stage in
            stage.source("ab---").flatMap(merging: 2) {
                _ = try refusing($0)
                return stage.source("123----4")
            }
        }
        #expect(closure.output == "1-----2-----3-----#")
    }

    @Test func `no elements are an end, and so are streams without any`() async throws {
        let without = BLEStream<Int>([]).flatMap { BLEStream([$0]) }
        #expect(try await without.collect() == [])
        let empty = BLEStream(0..<1000).flatMap { _ in BLEStream<Int>([]) }
        #expect(try await empty.collect() == [])
    }

    @Test func `cancellation and break close the upstream and the inner stream`() async throws {
        let cancelled = try await play(Consumer(isCancelledIn: 2)) { stage in
            stage.source("a----").flatMap { _ in stage.source("1----") }
        }
        #expect(cancelled.output == "1-!")
        #expect(cancelled.openings == ["0..<2", "0..<2"])
        let left = try await play(Consumer(breaksAfter: 1)) { stage in
            stage.source("a----").flatMap { _ in stage.source("-1---") }
        }
        #expect(left.openings == ["0..<1", "0..<1"])
        #expect(left.closings == [1, 1])
    }

    @Test func `stopped, it opens no more and hands out what the inner stream has`() async throws {
        let played = try await play(Consumer(isBusyFor: 4)) { stage in
            stage.source("ab---").flatMap { _ in stage.source("123----4") }.take(until: stage.source("---s"))
        }
        #expect(played.output == "1---2---3---|")
        #expect(played.openings.count == 3)
        #expect(played.closings == [1, 1, 1])
    }

    @Test func `gaps of the upstream and of inner streams pass`() async throws {
        let played = try await play { stage in
            stage.source("a---~|").flatMap { _ in stage.source("1~2|") }.withGaps()
        }
        #expect(played.output == "1~2-~|")
    }

    @Test func `a source that never pauses and brings nothing can be left`() async throws {
        let task = Task { try await BLEStream(0...).flatMap { _ in BLEStream<Int>([]) }.first() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a poll at an interval is a line`() async throws {
        let played = try await play(Consumer(breaksAfter: 3)) { stage in
            BLEStream.interval(.seconds(2), timeline: stage.time).flatMap { _ in stage.source("xy|").prefix(1) }
        }
        #expect(played.output == "--x-x-x")
        #expect(played.openings == ["2..<2", "4..<4", "6..<6"])
    }
}
