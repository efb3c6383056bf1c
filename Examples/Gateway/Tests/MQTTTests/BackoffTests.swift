import Testing

@testable import MQTT

@Suite("The pauses between attempts")
struct BackoffTests {
    @Test("double up to the limit, with jitter, and begin again after a success")
    func doubling() {
        var backoff = Backoff(first: .seconds(1), most: .seconds(10))
        #expect((0..<6).map { _ in backoff.next(random: 1) } == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
        #expect(backoff.next(random: 0) == .seconds(5))
        for _ in 0..<100 { #expect(backoff.next(random: 0.5) <= .seconds(10)) }
        backoff.reset()
        #expect(backoff.next(random: 0) == .milliseconds(500))
    }
}
