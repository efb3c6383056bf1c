import BLERadio
import RadioContract
import Synchronization
import Testing

@testable import BLELinux

/// Who may be bluetoothd's newest agent, while several pair at once.
@Suite(.timeLimit(.minutes(10))) struct AgentTurnTests {
    private let loops: [EventLoop]
    private let timeline = HandTimeline()
    private let taken: AsyncStream<Int>
    private let take: AsyncStream<Int>.Continuation
    /// Nobody else's: tests run side by side.
    private let bus = SystemBus(address: "unix:path=/nowhere/\(UInt64.random(in: 0 ... .max))")

    init() throws {
        loops = try (0..<3).map { try EventLoop(name: "test-\($0)") }
        (taken, take) = AsyncStream.makeStream()
    }

    private func turn(_ number: Int) -> AgentTurn {
        let turn = AgentTurn(on: bus, loop: loops[number % loops.count], timeline: timeline)
        loops[number % loops.count].enqueue { [take] in turn.take { take.yield(number) } }
        return turn
    }

    /// Waits until everything so far has been done on a loop.
    private func settle(_ number: Int) async {
        await withCheckedContinuation { continuation in loops[number].enqueue { continuation.resume() } }
    }

    @Test func `one after the other has it, and the next one learns of the end`() async throws {
        var order = taken.makeAsyncIterator()
        let first = turn(0)
        #expect(await order.next() == 0)
        var others = [1: turn(1), 2: turn(2), 3: turn(3)]
        for number in 0..<3 { await settle(number) }
        first.release()
        for _ in 0..<3 {
            let next = try #require(await order.next())
            let turn = others.removeValue(forKey: next)
            try #require(turn != nil)
            turn?.release()
        }
        #expect(timeline.delays.isEmpty)
    }

    @Test func `who waits no more takes none`() async throws {
        var order = taken.makeAsyncIterator()
        let first = turn(0)
        #expect(await order.next() == 0)
        let second = turn(1)
        await settle(1)
        second.release()
        first.release()
        let third = turn(2)
        #expect(await order.next() == 2)
        third.release()
    }

    @Test func `one that has been stopped holds the others up for a limited time`() async throws {
        var order = taken.makeAsyncIterator()
        let stopped = turn(0)
        #expect(await order.next() == 0)
        let second = turn(1)
        await settle(1)
        #expect(timeline.delays == [AgentTurn.patience])
        timeline.fire()
        #expect(await order.next() == 1)
        withExtendedLifetime((stopped, second)) {}
    }

    @Test func `a limit that passes just when the turn is free takes nothing back`() async throws {
        var order = taken.makeAsyncIterator()
        let first = turn(0)
        #expect(await order.next() == 0)
        let late = HandTimeline(cancels: false)
        let second = AgentTurn(on: bus, loop: loops[1], timeline: late)
        loops[1].enqueue { [take] in second.take { take.yield(1) } }
        await settle(1)
        first.release()
        #expect(await order.next() == 1)
        late.fire()
        await settle(1)
        let third = turn(2)
        await settle(2)
        #expect(timeline.delays == [AgentTurn.patience], "the third one waits for the second one")
        withExtendedLifetime((first, second, third)) {}
    }
}
