import Testing

@testable import BLEStreams

@Suite(.timeLimit(.minutes(10))) struct WakerTests {
    @Test func `who is woken between its last look and its wait does not wait`() async throws {
        let waker = Waker()
        waker.listen()
        waker.wake()
        try await waker.wait()
    }

    @Test func `however often it is woken, it wakes once, and waits the next time`() async throws {
        let waker = Waker()
        waker.listen()
        waker.wake()
        waker.wake()
        try await waker.wait()
        waker.listen()
        let task = Task { try await waker.wait() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `who is woken while it is busy waits all the same`() async throws {
        let waker = Waker()
        waker.wake()
        waker.listen()
        let task = Task { try await waker.wait() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
