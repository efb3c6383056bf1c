import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct TransformTests {
    @Test func `map transforms each element`() async throws {
        let played = try await play { $0.source("a-b|").map { $0.uppercased() } }
        #expect(played.output == "A-B|")
    }

    @Test func `compactMap leaves out what gives nil`() async throws {
        let played = try await play { $0.source("1-x-3|").compactMap { Int($0) } }
        #expect(played.output == "1---3|")
    }

    @Test func `filter keeps what meets the condition`() async throws {
        let played = try await play { $0.source("(abc)b-a|").filter { $0 != "b" } }
        #expect(played.output == "(ac)--a|")
    }

    @Test func `a filter that nothing passes can be cancelled where the source never pauses`() async throws {
        let endless = BLEStream(repeatElement(1, count: .max)).filter { $0 == 2 }
        let task = Task { try await endless.first() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `onEach sees each element before the consumer does`() async throws {
        let seen = Recorder<String>()
        for try await element in BLEStream(["a", "b"]).onEach({ seen.add("\($0) passes") }) {
            seen.add("\(element) is here")
        }
        #expect(seen.all == ["a passes", "a is here", "b passes", "b is here"])
    }

    @Test func `reductions begin afresh in each iteration`() async throws {
        let sums = BLEStream([1, 2, 3]).reductions(into: 0) { $0 += $1 }
        #expect(try await sums.collect() == [1, 3, 6])
        #expect(try await sums.collect() == [1, 3, 6])
    }

    @Test func `an error in a reduction ends the stream`() async throws {
        let played = try await play { stage in
            stage.source("ab|").reductions(into: "") { all, element in
                if element == "b" { throw Stage.failure }
                all += element
            }
        }
        #expect(played.output == "a#")
        #expect(played.closings == [1])
    }

    @Test func `distinct leaves out what repeats the element before`() async throws {
        let played = try await play { $0.source("aab-bba|").distinct() }
        #expect(played.output == "a-b---a|")
    }

    @Test func `distinct by key compares keys only`() async throws {
        let values = BLEStream([(1, "a"), (1, "b"), (2, "c"), (1, "d")]).distinct(by: \.0).map(\.1)
        #expect(try await values.collect() == ["a", "c", "d"])
        #expect(try await values.collect() == ["a", "c", "d"], "the second iteration remembers nothing of the first")
    }
}
