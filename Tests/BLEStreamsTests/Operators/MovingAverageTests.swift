import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct MovingAverageTests {
    @Test func `the last elements count, in the beginning those that have come`() async throws {
        let means = BLEStream([1.0, 2, 3, 4, 8]).movingAverage(ofLast: 2)
        #expect(try await means.collect() == [1, 1.5, 2.5, 3.5, 6])
        #expect(try await means.collect(2) == [1, 1.5], "the second iteration remembers nothing of the first")
        let floats = try await BLEStream([1, 2, 3, 4, 8] as [Float]).movingAverage(ofLast: 3).collect()
        #expect(floats.last == 5)
    }

    @Test func `a value that is no number is forgotten like others, and nothing drifts`() async throws {
        let means = try await BLEStream([1, .nan, 3, 5, 1e300, 1e300, 1, 3]).movingAverage(ofLast: 2).collect()
        #expect(means[0] == 1 && means[1].isNaN && means[2].isNaN && means[3] == 4)
        #expect(means[7] == 2)
    }

    @Test func `the elements of the last while count`() async throws {
        let played = try await play { stage in
            stage.source("1-3-8-----5|").map { Double($0) ?? 0 }.movingAverage(over: .seconds(4))
        }
        // What is just four seconds old counts no more.
        #expect(played.output == "[1.0]-[2.0]-[5.5]-----[5.0]|")
    }

    @Test func `the present element always counts`() async throws {
        let played = try await play { stage in
            stage.source("1-3|").map { Double($0) ?? 0 }.movingAverage(over: .zero)
        }
        #expect(played.output == "[1.0]-[3.0]|")
    }

    @Test func `no more elements are kept than were allowed`() async throws {
        let numbers = (1...1000).map { Double($0) }
        let means = try await BLEStream(numbers).movingAverage(over: .seconds(3600), limit: 2).collect()
        #expect(means.last == 999.5)
    }
}
