import BLEProtocol
import BLERadio
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// Joined adapters that change at the same time, each on a thread of its own.
@Suite(.timeLimit(.minutes(10))) struct JoinedStateStressTests {
    /// An adapter that a test switches.
    private final class SwitchedRadio: IdleRadio {
        private struct State {
            var now = AdapterInfo.State.poweredOff
            var events: (@Sendable (AdapterInfo) -> Void)?
        }

        private let state = Mutex(State())

        var adapterInfo: AdapterInfo { AdapterInfo(name: name, address: nil, state: state.withLock { $0.now }) }

        func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
            state.withLock { $0.events = events }
            return RadioActivity { [weak self] in self?.state.withLock { $0.events = nil } }
        }

        func become(_ now: AdapterInfo.State) {
            let events = state.withLock { state in
                state.now = now
                return state.events
            }
            events?(AdapterInfo(name: name, address: nil, state: now))
        }
    }

    /// A timeline on which what is to happen later happens when the test says so.
    private struct HeldTimeline: Timeline {
        private let real = RealTimeline()
        let bodies = Recorder<@Sendable () -> Void>()

        var now: Duration { real.now }
        var wallTime: ReceptionTime { real.wallTime }
        var clock: any Clock<Duration> { real.clock }
        func randomBits() -> UInt64 { real.randomBits() }

        func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
            bodies.add(body)
            return RadioActivity {}
        }
    }

    @Test func `what is told last is what they are, whichever of them changes last`() async {
        let (near, far, timeline) = (SwitchedRadio(), SwitchedRadio(), HeldTimeline())
        let joined = JoinedRadio([near, far], timeline: timeline)
        let told = Recorder<AdapterInfo.State>()
        let watch = joined.observeAdapter { told.add($0.state) }
        for body in timeline.bodies.all { body() }
        #expect(told.all == [.poweredOff])
        for round in Stress.seeds(2000) {
            far.become(.poweredOff)
            await Stress.onThreads(2) { number in
                let radio = number == 0 ? near : far
                let states: [AdapterInfo.State] = number == 0 ? [.poweredOn, .poweredOff] : [.poweredOff, .poweredOn]
                for _ in 0..<4 {
                    for state in states { radio.become(state) }
                }
            }
            #expect(told.all.last == joined.adapterInfo.state, "round \(round)")
        }
        watch.cancel()
    }
}
