import BLERadio
import Foundation
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// One consumer with too little patience, and senders on threads of their own.
@Suite(.timeLimit(.minutes(10))) struct InboxStressTests {
    private struct Value: Sendable {
        var sender: Int
        var number: Int
    }

    private struct Impatience: Error {}

    private struct Over: Error {}

    @Test(arguments: Stress.seeds(20))
    func `a wait that is over takes no value with it, and no later wait`(seed: UInt64) async throws {
        let inbox = Inbox<Value>(timeline: HastyTimeline())
        let impatience: @Sendable () -> any Error = { Impatience() }
        async let consumer = Task.detached {
            var (values, timeouts) = ([Value](), 0)
            while true {
                do {
                    values.append(try await inbox.next(limit: (.seconds(1), impatience)))
                } catch is Impatience {
                    timeouts += 1
                    // With nothing but values to end it.
                    if timeouts.isMultiple(of: 2) { await values.append(contentsOf: Self.rest(of: inbox, 1)) }
                } catch {
                    return (values, timeouts)
                }
            }
        }.value
        await Stress.onThreads(3) { sender in
            var chance = Chance(seed: seed &* 10 &+ UInt64(sender))
            for number in 0..<500 {
                inbox.send(Value(sender: sender, number: number))
                for _ in 0..<chance.below(30) { sched_yield() }
            }
        }
        inbox.finish(Over())
        let values = await consumer.0
        for sender in 0..<3 {
            #expect(values.filter { $0.sender == sender }.map(\.number) == Array(0..<500), "each once, in order")
        }
    }

    /// So many values that are waited for without a limit; fewer at the end.
    private static func rest(of inbox: Inbox<Value>, _ count: Int) async -> [Value] {
        var values: [Value] = []
        while values.count < count, let value = try? await inbox.next() { values.append(value) }
        return values
    }

    @Test(arguments: Stress.seeds(20))
    func `an end on any thread is told once, behind what is in, and to who comes later`(seed: UInt64) async throws {
        let inbox = Inbox<Int>(timeline: PatientTimeline())
        async let consumer = Task.detached {
            var values: [Int] = []
            while let value = try? await inbox.next() { values.append(value) }
            return values
        }.value
        let taken = Mutex<[Int]>([])
        await Stress.onThreads(4) { number in
            var chance = Chance(seed: seed &* 10 &+ UInt64(number))
            for value in 0..<chance.below(200) {
                if number == 0 { return inbox.finish(Over(), droppingElements: seed.isMultiple(of: 2)) }
                inbox.send(number * 1000 + value)
                // What is taken without waiting is nobody else's.
                if let value = inbox.take() { taken.withLock { $0.append(value) } }
                Stress.dawdle(&chance)
            }
        }
        inbox.finish(Over())
        let all = await consumer + taken.withLock { $0 }
        #expect(Set(all).count == all.count, "nothing twice")
        await #expect(throws: Over.self) { _ = try await inbox.next() }
    }
}
