import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// A bus that is stopped: the kernel keeps two who connect to it, and lets the others wait.
@Suite(.timeLimit(.minutes(10)), .needsLibDBus) struct StoppedBusTests {
    @Test func `it holds few threads, however often it is tried`() async throws {
        let name = FakeBus.newName()
        var listener: SharedDescriptor? = SharedDescriptor(try FakeBus.listen("\0" + name))
        let loop = try EventLoop(name: "test")
        let timeline = HandTimeline()
        let attempts = 100
        let outcomes = Events<BusFailure> { yield in
            for _ in 0..<attempts {
                BusConnection.open(
                    FakeBus.place(of: name),
                    on: loop,
                    timeline: timeline,
                    deadline: .seconds(5),
                    received: { _ in nil },
                    ended: {},
                    opened: { yield($0.failure ?? .noLibrary) }
                )
            }
            return RadioActivity {}
        }
        let refused = attempts - BusConnection.mostWaiting - 2
        for _ in 0..<refused {
            let failure = await outcomes.next()
            #expect(failure == .timedOut)
        }
        #expect(listener != nil)
        listener = nil
        for _ in refused..<attempts {
            let failure = await outcomes.next()
            #expect(failure != nil && failure != .noLibrary)
        }
    }
}
