import BLEProtocol
import BLERadio
import Synchronization

@testable import BLELinux

/// Real time, whose last timers needn't be waited for.
final class DrainedTimeline: Timeline {
    private struct State {
        var next = 0
        var timers: [Int: @Sendable () -> Void] = [:]
    }

    private let real = RealTimeline()
    private let state = Mutex(State())

    var now: Duration { real.now }
    var wallTime: ReceptionTime { real.wallTime }
    var clock: any Clock<Duration> { real.clock }

    func randomBits() -> UInt64 { real.randomBits() }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let number = state.withLock { state in
            defer { state.next += 1 }
            state.timers[state.next] = body
            return state.next
        }
        let timer = real.schedule(after: delay) { [weak self] in self?.take(number)?() }
        return RadioActivity { [weak self] in
            timer.cancel()
            _ = self?.take(number)
        }
    }

    private func take(_ number: Int) -> (@Sendable () -> Void)? {
        state.withLock { $0.timers.removeValue(forKey: number) }
    }

    /// Fires those that run, at once.
    func drain() {
        let due = state.withLock { state in
            defer { state.timers = [:] }
            return state.timers.sorted { $0.key < $1.key }.map(\.value)
        }
        for body in due { body() }
    }
}
