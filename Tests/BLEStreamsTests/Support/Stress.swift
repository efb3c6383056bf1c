import BLEProtocol
import BLERadio
import Dispatch
import Foundation
import RadioDoubles
import Synchronization

/// What tests of real threads have in common.
enum Stress {
    /// How many seeds are tried; as many as the environment variable `BLESTREAMS_STRESS` says, where it is set.
    static func seeds(_ plain: UInt64) -> ClosedRange<UInt64> {
        1...max(1, getenv("BLESTREAMS_STRESS").flatMap { UInt64(String(cString: $0)) } ?? plain)
    }

    /// Runs the closure on so many threads, which begin together; returns when all are done.
    static func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
        let (group, arrived) = (DispatchGroup(), AtomicCount())
        for number in 0..<count {
            // A queue of its own, and so a thread of its own: a shared one has no more threads than processors.
            DispatchQueue(label: "thread \(number)").async(group: group) {
                arrived.add()
                while arrived.value < count { sched_yield() }
                body(number)
            }
        }
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
    }

    /// Gives way to other threads, perhaps.
    static func dawdle(_ chance: inout Chance) {
        for _ in 0..<chance.below(4) { sched_yield() }
    }
}

/// A number that several threads count up.
final class AtomicCount: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    @discardableResult
    func add(_ number: Int = 1) -> Int { count.add(number, ordering: .sequentiallyConsistent).newValue }
}

/// A timeline on which what is to happen later happens at once, on another thread.
struct HastyTimeline: Timeline {
    private let real = RealTimeline()

    var now: Duration { real.now }
    var wallTime: ReceptionTime { real.wallTime }
    var clock: any Clock<Duration> { real.clock }
    func randomBits() -> UInt64 { real.randomBits() }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let isOff = Flag()
        DispatchQueue.global().async { if !isOff.isSet { body() } }
        return RadioActivity { isOff.set() }
    }
}

/// The real time, but a hundred times as fast: timeouts race what they limit.
struct FastTimeline: Timeline {
    private let real = RealTimeline()

    var now: Duration { real.now * 100 }
    var wallTime: ReceptionTime { real.wallTime }
    var clock: any Clock<Duration> { real.clock }
    func randomBits() -> UInt64 { real.randomBits() }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        real.schedule(after: delay / 100, body)
    }
}
