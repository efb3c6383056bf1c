import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct DropTests {
    @Test func `dropFirst leaves out the first elements of each iteration`() async throws {
        let played = try await play(iterations: 2) { $0.source("ab-c-d|").dropFirst(2) }
        #expect(played.output == "---c-d|")
        #expect(played.closings == [1, 1])
    }

    @Test func `dropFirst leaves out one unless told otherwise`() async throws {
        #expect(try await BLEStream([1, 2, 3]).dropFirst().collect() == [2, 3])
    }

    @Test func `dropFirst of more than there is ends with the upstream`() async throws {
        let played = try await play { $0.source("a-b|").dropFirst(9) }
        #expect(played.output == "---|")
    }

    @Test func `drop leaves out what meets the condition until one doesn't`() async throws {
        let played = try await play(iterations: 2) { $0.source("aa-b-a|").drop { $0 == "a" } }
        #expect(played.output == "---b-a|")
    }

    @Test func `a source that never pauses can be left while all is dropped`() async throws {
        let task = Task { try await BLEStream(repeatElement(1, count: .max)).drop { $0 == 1 }.first() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `an error of the condition ends the stream`() async throws {
        let played = try await play { $0.source("a-b|").drop { _ in throw Stage.failure } }
        #expect(played.output == "#")
        #expect(played.closings == [1])
    }

    @Test func `gaps pass while elements are dropped`() async throws {
        let played = try await play { $0.source("a~b|").dropFirst(2).withGaps() }
        #expect(played.output == "-~-|")
    }
}
