import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct BufferedTests {
    @Test func `a slow consumer gets the newest, decoded`() async throws {
        let played = try await play(Consumer(isBusyFor: 4)) {
            $0.source("abcdefgh|").map { $0.uppercased() }.buffered(.newest(1))
        }
        #expect(played.output == "A---E---H---|")
        #expect(played.counters.received == 8)
        #expect(played.counters.delivered == 3)
        #expect(played.counters.dropped == 5)
        #expect(played.counters.highWaterMark == 1)
    }

    @Test func `what is dropped is a gap in its place`() async throws {
        let newest = try await play(Consumer(isBusyFor: 9)) { $0.source("abcdef|").buffered(.newest(2)).withGaps() }
        #expect(newest.output == "a--------?--------e--------f--------|")
        let oldest = try await play(Consumer(isBusyFor: 9)) { $0.source("abcdef|").buffered(.oldest(2)).withGaps() }
        #expect(oldest.output == "a--------b--------c--------?--------|")
    }

    @Test func `fail ends after what is in the buffer, with an error that names the stream`() async throws {
        let played = try await play(Consumer(isBusyFor: 9)) { $0.source("abcdef|").buffered(.fail(2)) }
        #expect(played.output == "a--------b--------c--------#")
        let error = try #require(played.error as? BLEError)
        #expect(error.code == .overflow)
        #expect(error.operation == "values")
        #expect(played.closings == [1])
    }

    @Test func `an error of the upstream comes after what is in the buffer`() async throws {
        let played = try await play(Consumer(isBusyFor: 3)) { $0.source("abc#").buffered(.unbounded) }
        #expect(played.output == "a--b--c--#")
    }

    @Test func `an endless source ends a buffer that fails`() async throws {
        let error = await #expect(throws: BLEError.self) {
            for try await _ in BLEStream(repeatElement(1, count: .max)).buffered(.fail(10)) {}
        }
        #expect(error?.code == .overflow)
    }

    @Test func `leaving the loop drops what is in the buffer, and counts it`() async throws {
        let played = try await play(Consumer(breaksAfter: 2)) { $0.source("(abcde)f").buffered(.unbounded) }
        #expect(played.output == "(ab)")
        #expect(played.counters.received == 5)
        #expect(played.counters.delivered == 2)
        #expect(played.counters.dropped == 3)
        #expect(played.closings == [1])
    }

    @Test func `cancellation drops what is in the buffer, and counts it`() async throws {
        let consumer = Consumer(isCancelledIn: 2, isBusyFor: 4)
        let played = try await play(consumer) { $0.source("(abc)--d").buffered(.unbounded) }
        #expect(played.output == "a---!")
        #expect(played.counters.delivered == 1)
        #expect(played.counters.dropped == 2)
        #expect(played.closings == [1])
    }
}
