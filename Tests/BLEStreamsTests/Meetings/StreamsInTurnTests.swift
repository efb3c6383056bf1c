import Foundation
import Testing

/// `STREAM_SEEDS=1000 swift test --filter InTurnTests` runs as many seeds of each kind as are wanted.
@Suite(.timeLimit(.minutes(30))) struct StreamsInTurnTests {
    static let seeds = ProcessInfo.processInfo.environment["STREAM_SEEDS"].flatMap { UInt64($0) } ?? 4

    @Test(arguments: StreamsInTurn.Ground.allCases, StreamsInTurn.Condition.allCases)
    func `a stream that begins as another one ends is without a hole, or tells a gap`(
        ground: StreamsInTurn.Ground,
        condition: StreamsInTurn.Condition
    ) async throws {
        for seed in 1...Self.seeds {
            let found = try await StreamsInTurn.run(seed: seed, ground, condition)
            #expect(found.isEmpty, "seed \(seed): \(found.count), \(found.prefix(3))")
        }
    }
}
