import BLEStreams
import Testing

/// Which of several functions of one name the compiler takes. What compiles here is what is tested.
@Suite(.timeLimit(.minutes(10))) struct OverloadTests {
    private let stream = BLEStream([3, 1, 2])

    @Test func `synchronous closures make a BLEStream again`() async throws {
        let mapped = stream.map { $0 + 1 }
        let filtered = stream.filter { $0 > 1 }
        let compacted = stream.compactMap { $0 > 1 ? "\($0)" : nil }
        let first = stream.prefix(2)
        let chained = stream.map { $0 + 1 }.filter { $0 > 2 }.prefix(1).compactMap { $0 }.timeout(.seconds(1)).retry()
        func isStream<Element>(_: BLEStream<Element>) -> Bool { true }
        #expect(isStream(mapped) && isStream(filtered) && isStream(compacted) && isStream(first) && isStream(chained))
        #expect(try await compacted.collect() == ["3", "2"])
    }

    @Test func `asynchronous closures are the standard library's, and work`() async throws {
        @Sendable func later(_ number: Int) async -> Int { number * 10 }
        var seen: [Int] = []
        for try await number in stream.map({ await later($0) }) { seen.append(number) }
        #expect(seen == [30, 10, 20])
    }

    @Test func `what else the standard library has works`() async throws {
        #expect(try await stream.reduce(0, +) == 6)
        #expect(try await stream.contains(2))
        #expect(try await stream.min() == 1)
        #expect(try await stream.max() == 3)
        #expect(try await stream.allSatisfy { $0 > 0 })
        #expect(try await stream.dropFirst().reduce(into: []) { $0.append($1) } == [1, 2])
        #expect(try await stream.prefix(while: { $0 > 2 }).reduce(into: []) { $0.append($1) } == [3])
        #expect(try await stream.flatMap { BLEStream([$0, $0]) }.reduce(0, +) == 12)
    }

    @Test func `first is an element or an error, with a condition or without`() async throws {
        let first: Int = try await stream.first()
        let small: Int = try await stream.first { $0 < 3 }
        let same: Int = try await stream.first(where: { $0 < 3 })
        #expect([first, small, same] == [3, 1, 1])
    }

    @Test func `an operator can be written against AsyncSequence`() async throws {
        func sum(_ numbers: some AsyncSequence<Int, any Error>) async throws -> Int {
            var sum = 0
            for try await number in numbers { sum += number }
            return sum
        }
        #expect(try await sum(stream) == 6)
    }
}
