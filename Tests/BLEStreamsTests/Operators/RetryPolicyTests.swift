import BLEStreams
import Testing

@Suite struct RetryPolicyTests {
    /// The bits for which jitter changes nothing.
    private let middle: UInt64 = 1 << 63

    @Test func `exponential pauses double up to the longest`() {
        let policy = RetryPolicy.exponential(jitter: 0)
        let pauses = (1...9).map { policy.delay(afterFailure: $0, random: middle) }
        #expect(
            pauses == [250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000].map { Duration.milliseconds($0) }
        )
    }

    @Test func `a pause after very many failures is the longest, and found at once`() {
        let policy = RetryPolicy.exponential(jitter: 0)
        #expect(policy.delay(afterFailure: .max, random: middle) == .seconds(30))
        let slow = RetryPolicy.exponential(from: .seconds(1), to: .seconds(30), factor: 1, jitter: 0)
        #expect(slow.delay(afterFailure: .max, random: middle) == .seconds(1))
        let none = RetryPolicy.exponential(from: .zero, to: .seconds(30), jitter: 0)
        #expect(none.delay(afterFailure: .max, random: middle) == .zero)
    }

    @Test func `jitter goes as far as it says in both directions, and no further`() throws {
        let policy = RetryPolicy.exponential(from: .seconds(10), jitter: 0.2)
        #expect(policy.delay(afterFailure: 1, random: 0) == .seconds(8))
        #expect(policy.delay(afterFailure: 1, random: middle) == .seconds(10))
        let longest = try #require(policy.delay(afterFailure: 1, random: .max))
        #expect(longest > .milliseconds(11_999) && longest <= .seconds(12))
    }

    @Test func `a pause is never negative`() {
        let policy = RetryPolicy.exponential(from: .seconds(10), jitter: 3)
        #expect(policy.delay(afterFailure: 1, random: 0) == .zero)
        #expect(RetryPolicy.constant(.seconds(-1)).delay(afterFailure: 1, random: 0) == .zero)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e300, .greatestFiniteMagnitude])
    func `a factor or a jitter that is no such number has a meaning`(number: Double) throws {
        for failure in [1, 2, 100, .max] {
            for random in [UInt64(0), middle, .max] {
                let jittery = RetryPolicy.exponential(from: .seconds(10), to: .seconds(10), jitter: number)
                let pause = try #require(jittery.delay(afterFailure: failure, random: random))
                // The nearest of 0 to 1: none, or the whole pause.
                #expect(pause >= (number > 0 ? .zero : .seconds(10)) && pause <= .seconds(number > 0 ? 20 : 10))
                let growing = RetryPolicy.exponential(from: .seconds(1), factor: number, jitter: 0)
                let next = try #require(growing.delay(afterFailure: failure, random: random))
                #expect(next == (number > 1 && failure > 1 ? .seconds(30) : .seconds(1)))
            }
        }
    }

    @Test func `after the attempts there is no pause`() {
        let policy = RetryPolicy.immediate(attempts: 2)
        #expect(policy.delay(afterFailure: 2, random: 0) == .zero)
        #expect(policy.delay(afterFailure: 3, random: 0) == nil)
        #expect(RetryPolicy.constant(.seconds(1), attempts: 0).delay(afterFailure: 1, random: 0) == nil)
    }
}
