import BLERadio
import BLESimulator
import RadioDoubles
import Testing

@testable import BLEStreams

/// Calls of closures for a central that leaves meanwhile.
@Suite(.timeLimit(.minutes(10))) struct ClosureCallsTests {
    /// Adds a call that takes so long, and tells when it was over, and whether its central had left by then.
    private static func add(
        _ name: String,
        to calls: ClosureCalls,
        hasLeft: Bool,
        lasting duration: Duration,
        _ time: VirtualTime,
        _ made: Recorder<String>
    ) -> Bool {
        calls.add(1, hasLeft: hasLeft) { end in
            do { try await time.sleep(for: duration) } catch { return made.add("\(name) was cancelled") }
            made.add("\(name) at \(time.now)\(end.hasEnded ? ", behind the end" : "")")
        }
    }

    @Test func `what a central has sent last is called behind its earlier calls, though it has left`() async throws {
        let made = Recorder<String>()
        try await VirtualTime.run { time in
            let calls = ClosureCalls(on: time)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await calls.run() }
                let isFirst = Self.add("first", to: calls, hasLeft: false, lasting: .seconds(5), time, made)
                try? await time.sleep(for: .seconds(1))
                calls.end(1)
                let isLate = Self.add("late", to: calls, hasLeft: true, lasting: .seconds(5), time, made)
                #expect(isFirst && isLate)
                try? await time.sleep(for: .seconds(60))
                #expect(!calls.hasCalls(of: 1))
                group.cancelAll()
            }
        }
        #expect(
            made.all == [
                "first at \(Duration.seconds(5)), behind the end", "late at \(Duration.seconds(10)), behind the end",
            ]
        )
    }

    @Test func `a call that comes behind the end of all others is made, and knows that its central has left`()
        async throws
    {
        let made = Recorder<String>()
        try await VirtualTime.run { time in
            let calls = ClosureCalls(on: time)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await calls.run() }
                calls.end(1)
                let isTaken = Self.add("late", to: calls, hasLeft: true, lasting: .seconds(5), time, made)
                try? await time.sleep(for: .seconds(10))
                // One that takes too long doesn't outlast the patience with those that have left.
                let isTooSlow = Self.add("slow", to: calls, hasLeft: true, lasting: .seconds(600), time, made)
                #expect(isTaken && isTooSlow)
                try? await time.sleep(for: ClosureCalls.patience + .seconds(1))
                #expect(!calls.hasCalls(of: 1))
                group.cancelAll()
            }
        }
        #expect(made.all == ["late at \(Duration.seconds(5)), behind the end", "slow was cancelled"])
    }

    @Test(arguments: Stress.seeds(10))
    func `no call is lost that comes at the moment at which its central leaves, and none overtakes another`(
        seed: UInt64
    ) async {
        let centrals = 50
        let calls = ClosureCalls(on: RealTimeline())
        let made = Recorder<[Int]>()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await calls.run() }
            for central in 0..<centrals {
                let hasLeft = Flag()
                await Stress.onThreads(2) { thread in
                    var chance = Chance(seed: seed &* 1000 &+ UInt64(2 * central + thread))
                    guard thread == 0 else {
                        Stress.dawdle(&chance)
                        hasLeft.set()
                        return calls.end(central)
                    }
                    for number in 0..<4 {
                        _ = calls.add(central, hasLeft: hasLeft.isSet) { _ in made.add([central, number]) }
                        Stress.dawdle(&chance)
                    }
                }
            }
            while (0..<centrals).contains(where: { calls.hasCalls(of: $0) }) { await Task.yield() }
            group.cancelAll()
        }
        let all = made.all
        for central in 0..<centrals {
            let numbers = all.filter { $0[0] == central }.map { $0[1] }
            #expect(numbers == [0, 1, 2, 3], "central \(central)")
        }
    }
}
