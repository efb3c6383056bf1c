import BLERadio
import Glibc
import Synchronization
import Testing

@testable import BLELinux

@Suite(.timeLimit(.minutes(10)))
struct EventLoopTests {
    @Test func `jobs run in order, on one thread that is not the caller's`() async throws {
        let loop = try EventLoop(name: "test")
        let jobs = Events<(Int, pthread_t)> { yield in
            for number in 0..<100 { loop.enqueue { yield((number, pthread_self())) } }
            return RadioActivity {}
        }
        var threads: Set<pthread_t> = []
        for number in 0..<100 {
            let job = try #require(await jobs.next())
            #expect(job.0 == number)
            threads.insert(job.1)
        }
        #expect(threads.count == 1)
    }

    @Test func `a job may hand over another one`() async throws {
        let loop = try EventLoop(name: "test")
        let jobs = Events<Int> { yield in
            loop.enqueue {
                loop.enqueue { yield(2) }
                yield(1)
            }
            return RadioActivity {}
        }
        #expect(await jobs.next() == 1)
        #expect(await jobs.next() == 2)
    }

    @Test func `jobs that hand over jobs without end leave the sockets their turns`() async throws {
        let loop = try EventLoop(name: "test")
        let pair = try SocketPair()
        let isDone = Mutex(false)
        @Sendable func again() {
            loop.enqueue { if !isDone.withLock({ $0 }) { again() } }
        }
        let received = Events<Int> { yield in
            again()
            _ = try? loop.register(pair.near.descriptor, for: .readable) { _, buffer in
                if let count = try? pair.near.descriptor.receive(into: buffer) { yield(count) }
            }
            return RadioActivity {}
        }
        for _ in 0..<10 {
            try pair.far.descriptor.send([1])
            #expect(await received.next() == 1)
        }
        isDone.withLock { $0 = true }
    }

    @Test func `timers fire on the loop's thread, in the order of their times, unless they were cancelled`()
        async throws
    {
        let loop = try EventLoop(name: "test")
        let scheduled = Mutex<[RadioActivity]>([])
        let fired = Events<(Int, pthread_t)> { yield in
            // The loop's thread is here: no timer fires before all have been scheduled.
            loop.enqueue {
                yield((0, pthread_self()))
                let timers = Self.schedule([3, 1, 2], on: loop) { yield(($0, pthread_self())) }
                timers[1].cancel()
                scheduled.withLock { $0 = timers }
            }
            return RadioActivity { for timer in scheduled.withLock({ $0 }) { timer.cancel() } }
        }
        let order = [await fired.next(), await fired.next(), await fired.next()]
        #expect(order.map { $0?.0 } == [0, 2, 3])
        #expect(Set(order.map { $0?.1 }).count == 1)
        withExtendedLifetime(loop) {}
    }

    /// Timers that fire in the order of their numbers.
    private static func schedule(
        _ numbers: [Int],
        on loop: EventLoop,
        _ fire: @escaping @Sendable (Int) -> Void
    ) -> [RadioActivity] {
        let time = RealTimeline()
        while true {
            let start = time.now
            let timers = numbers.map { number in
                loop.scheduleReceiving(after: .milliseconds(5 * number), time) { _ in fire(number) }
            }
            if time.now - start < .milliseconds(5) { return timers }
            // The thread was held up amid them, and the times are in another order.
            for timer in timers { timer.cancel() }
        }
    }

    @Test func `the timers of another time are its own`() async throws {
        let loop = try EventLoop(name: "test")
        let timeline = HandTimeline()
        let fired = Events<Void> { yield in
            loop.scheduleReceiving(after: .seconds(3600), timeline) { _ in yield(()) }
        }
        timeline.fire(.seconds(3600))
        #expect(await fired.next() != nil)
    }

    @Test func `a task that prefers the loop runs on its thread, and goes on there after each wait`() async throws {
        let loop = try EventLoop(name: "test")
        let (jobs, ring) = AsyncStream.makeStream(of: pthread_t.self)
        loop.enqueue { ring.yield(pthread_self()) }
        var iterator = jobs.makeAsyncIterator()
        let thread = try #require(await iterator.next())
        await withTaskExecutorPreference(loop) {
            for _ in 0..<100 {
                let before = Self.thread()
                #expect(before == thread)
                await withCheckedContinuation { waiting in loop.enqueue { waiting.resume() } }
                let after = Self.thread()
                #expect(after == thread)
            }
        }
    }

    private static func thread() -> pthread_t { pthread_self() }

    @Test func `a handler that unregisters another one keeps it from being called in the same turn`() async throws {
        let loop = try EventLoop(name: "test")
        let first = try SocketPair()
        let second = try SocketPair()
        let (one, two) = (first.near, second.near)
        let registrations = Mutex<[EventLoop.Registration]>([])
        let calls = Events<Int> { yield in
            // Both are ready before the loop looks again; whichever is called first unregisters both.
            loop.enqueue {
                for (number, socket) in [(1, one), (2, two)] {
                    let registration = try? loop.register(socket.descriptor, for: .readable) { _, _ in
                        yield(number)
                        for (registration, socket) in zip(registrations.withLock { $0 }, [one, two]) {
                            loop.unregister(registration, of: socket.descriptor)
                        }
                        loop.enqueue { yield(0) }
                    }
                    if let registration { registrations.withLock { $0.append(registration) } }
                }
                try? first.far.descriptor.send([1])
                try? second.far.descriptor.send([1])
            }
            return RadioActivity {}
        }
        #expect([1, 2].contains(await calls.next()))
        #expect(await calls.next() == 0)
    }

    @Test func `the thread ends with the loop, and lets go of what was registered`() async throws {
        final class Witness: Sendable {
            let onEnd: @Sendable () -> Void
            init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
            deinit { onEnd() }
        }
        let pair = try SocketPair()
        let ends = Events<Bool> { yield in
            guard let loop = try? EventLoop(name: "test") else { return RadioActivity {} }
            let witness = Witness { yield(true) }
            _ = try? loop.register(pair.near.descriptor, for: .readable) { _, _ in _ = witness }
            return RadioActivity {}
        }
        #expect(await ends.next() == true)
    }

    @Test func `a sink calls nobody after it was closed, and its last event is the last`() {
        let calls = Mutex<[Int]>([])
        let sink = EventSink<Int> { number in calls.withLock { $0.append(number) } }
        sink.send(1)
        sink.finish(2)
        sink.send(3)
        sink.finish(4)
        let closed = EventSink<Int> { number in calls.withLock { $0.append(number) } }
        closed.close()
        closed.send(5)
        #expect(calls.withLock { $0 } == [1, 2])
        #expect(!sink.isOpen)
    }
}
