import Dispatch
import Foundation
import Testing

@testable import BLERadio

@Suite(.timeLimit(.minutes(10))) struct RealTimelineTests {
    /// The nanoseconds of the clock that goes on while the machine sleeps.
    private static var now: UInt64 {
        var moment = timespec()
        clock_gettime(CLOCK_BOOTTIME, &moment)
        return UInt64(moment.tv_sec) * 1_000_000_000 + UInt64(moment.tv_nsec)
    }

    @Test func `a timer is set on the clock that goes on while the machine sleeps`() {
        let before = Self.now
        let deadline = RealTimeline.deadline(after: .seconds(5)).rawValue
        let after = Self.now
        // The two highest bits name Dispatch's clock.
        #expect(deadline >> 62 == 0b10)
        let time = deadline & ~(0b11 << 62)
        #expect((before + 5_000_000_000...after + 5_000_000_000).contains(time))
    }

    @Test(arguments: [Duration.seconds(Int64.max), .nanoseconds(Int64.max), .seconds(1 << 33)])
    func `a deadline that no clock reaches is never, and not in the past`(delay: Duration) {
        #expect(RealTimeline.deadline(after: delay) == .distantFuture)
    }

    @Test func `timers fire in the order of their times, not in that in which they were set`() async {
        let time = RealTimeline()
        while true {
            let (fired, feed) = AsyncStream.makeStream(of: Int.self)
            let start = time.now
            let timers = [20, 1].map { number in
                time.schedule(after: .milliseconds(number)) { feed.yield(number) }
            }
            // The thread was held up between them: their times are in another order.
            guard time.now - start < .milliseconds(19) else { continue }
            let order = await fired.prefix(2).reduce(into: [Int]()) { $0.append($1) }
            #expect(order == [1, 20])
            for timer in timers { timer.cancel() }
            return
        }
    }
}
