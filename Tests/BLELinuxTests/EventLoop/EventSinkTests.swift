import Synchronization
import Testing

@testable import BLELinux

@Suite struct EventSinkTests {
    /// A closure that grows by a layer with each of them fills the stack long before.
    @Test func `an event is handed over after as many as a scan hears in months`() {
        let received = Mutex(0)
        let sink = EventSink<[Int]> { events in received.withLock { $0 += events.count } }
        for _ in 0..<300_000 { sink.send([1]) }
        #expect(received.withLock { $0 } == 300_000)
        sink.close()
        sink.send([1])
        #expect(received.withLock { $0 } == 300_000 && !sink.isOpen)
    }
}
