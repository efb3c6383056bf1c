import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct DebounceTests {
    @Test func `an element comes when none has followed it for long enough`() async throws {
        let played = try await play { $0.source("abc-----d----|").debounce(for: .seconds(3)) }
        #expect(played.output == "-----c-----d-|")
    }

    @Test func `the last element comes with the end`() async throws {
        let played = try await play { $0.source("ab|").debounce(for: .seconds(9)) }
        #expect(played.output == "--(b|)")
        #expect(played.closings == [1])
    }

    @Test func `the last element comes before the error`() async throws {
        let played = try await play { $0.source("ab#").debounce(for: .seconds(9)) }
        #expect(played.output == "--(b#)")
        #expect(played.closings == [1])
    }

    @Test func `an end without elements is an end`() async throws {
        let played = try await play { $0.source("--|").debounce(for: .seconds(9)) }
        #expect(played.output == "--|")
    }

    @Test func `cancellation drops the element that is held and closes the upstream`() async throws {
        let played = try await play(Consumer(isCancelledIn: 2)) { $0.source("a---").debounce(for: .seconds(9)) }
        #expect(played.output == "--!")
        #expect(played.openings == ["0..<2"])
        #expect(played.closings == [1])
    }

    @Test func `leaving the loop closes the upstream`() async throws {
        let played = try await play(Consumer(breaksAfter: 1)) { $0.source("a-----b--").debounce(for: .seconds(2)) }
        #expect(played.output == "--a")
        #expect(played.openings == ["0..<2"])
        #expect(played.closings == [1])
    }

    @Test func `iterating again remembers nothing`() async throws {
        let played = try await play(iterations: 2) { $0.source("a|", "--|").debounce(for: .seconds(9)) }
        #expect(played.output == "--|")
    }

    @Test func `a gap stays behind what came before it`() async throws {
        let held = try await play { $0.source("a~-----|").debounce(for: .seconds(4)).withGaps() }
        #expect(held.output == "----(a~)--|")
        let replaced = try await play { $0.source("a~b----|").debounce(for: .seconds(3)).withGaps() }
        #expect(replaced.output == "--~--b-|")
    }

    @Test func `a source that never pauses can be left`() async throws {
        let task = Task { try await BLEStream(repeatElement(1, count: .max)).debounce(for: .seconds(1)).first() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `leaving the loop drops what is held`() async throws {
        let consumer = Consumer(breaksAfter: 1, isBusyFor: 3)
        let played = try await play(consumer) { $0.source("a--b----").debounce(for: .seconds(1)) }
        #expect(played.output == "-a")
        #expect(played.openings == ["0..<1"])
        #expect(played.closings == [1])
    }

    @Test func `an upstream that fails with a cancellation error passes it behind the last element`() async throws {
        let played = try await play { $0.source("ab!").debounce(for: .seconds(9)) }
        #expect(played.output == "--(b!)")
        #expect(played.closings == [1])
    }

    @Test func `a consumer cancelled while busy gets no further element`() async throws {
        let consumer = Consumer(isCancelledIn: 3, isBusyFor: 4)
        let played = try await play(consumer) { $0.source("a-b-----").debounce(for: .seconds(1)) }
        #expect(played.output == "-a---!")
        #expect(played.closings == [1])
    }

    @Test func `stopped, it hands out what it holds`() async throws {
        let played = try await play { $0.source("ab----c").debounce(for: .seconds(9)).take(until: $0.source("---x")) }
        #expect(played.output == "---(b|)")
        #expect(played.closings == [1, 1])
    }
}
