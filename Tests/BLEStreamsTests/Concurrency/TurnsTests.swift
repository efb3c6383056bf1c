import BLERadio
import BLESimulator
import Dispatch
import RadioDoubles
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct TurnsTests {
    @Test func `those who wait have their turns in the order in which they came`() {
        let (turns, granted) = (Turns(), Recorder<Int>())
        let leaving = (0..<4).map { number in turns.enter(grant: { granted.add(number) }) }
        #expect(granted.all == [0])
        leaving[1]()
        leaving[0]()
        #expect(granted.all == [0, 2], "the second one left while it waited")
        leaving[2]()
        leaving[3]()
        #expect(granted.all == [0, 2, 3])
    }

    @Test func `leaving again takes no turn from anybody`() {
        let (turns, granted) = (Turns(), Recorder<Int>())
        let leaving = (0..<3).map { number in turns.enter(grant: { granted.add(number) }) }
        leaving[0]()
        leaving[0]()
        #expect(granted.all == [0, 1], "the third one waits still")
        leaving[1]()
        leaving[2]()
        leaving[2]()
        let last = turns.enter(grant: { granted.add(3) })
        #expect(granted.all == [0, 1, 2, 3])
        last()
    }

    @Test func `who leaves in the moment in which it is let in leaves for good`() async throws {
        let turns = Turns()
        let timeline = PatientTimeline()
        let first = try await turns.enter(on: timeline)
        // Lines up behind, and gives up before its turn.
        let task = Task { try await turns.enter(on: timeline) }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        first()
        let leave = try await turns.enter(on: timeline)
        leave()
    }

    @Test func `who waits gives up when something else ends the wait, and takes no turn from anybody`() async throws {
        let (turns, timeline, looks) = (Turns(), PatientTimeline(), Recorder<Int>())
        struct Failure: Error {}
        let first = try await turns.enter(on: timeline) { _ in
            looks.add(1)
            return {}
        }
        await #expect(throws: Failure.self) {
            _ = try await turns.enter(on: timeline) { report in
                looks.add(2)
                report(Failure())
                return {}
            }
        }
        #expect(looks.all == [2], "the first one's turn came at once")
        first()
        let leave = try await turns.enter(on: timeline)
        leave()
    }

    @Test func `who has had a turn for long makes room, and nobody does while nobody waits`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let turns = Turns(width: 2, limit: Turns.Limit(.seconds(5), on: time))
            let (granted, revoked) = (Recorder<Int>(), Recorder<Int>())
            let leaving = Mutex<[Int: @Sendable () -> Void]>([:])
            let enter: @Sendable (Int) -> Void = { number in
                let leave = turns.enter {
                    granted.add(number)
                } revoke: {
                    revoked.add(number)
                    leaving.withLock { $0.removeValue(forKey: number) }?()
                }
                leaving.withLock { $0[number] = leave }
            }
            let pass: (Duration) async throws -> Void = { try await time.clock.sleep(for: $0) }
            enter(0)
            enter(1)
            try await pass(.seconds(60))
            #expect(granted.all == [0, 1] && revoked.all.isEmpty)
            enter(2)
            try await pass(.milliseconds(1))
            #expect(granted.all == [0, 1, 2] && revoked.all == [0], "its time was over already")
            enter(3)
            try await pass(.milliseconds(1))
            #expect(granted.all == [0, 1, 2, 3] && revoked.all == [0, 1])
            enter(4)
            try await pass(.milliseconds(4_990))
            #expect(revoked.all == [0, 1], "a turn is left alone for its time")
            try await pass(.milliseconds(20))
            #expect(granted.all == [0, 1, 2, 3, 4] && revoked.all == [0, 1, 2])
            // Those who have their turns still hold what holds them.
            let left = leaving.withLock { leaving in
                defer { leaving = [:] }
                return leaving
            }
            for leave in left.values { leave() }
        }
    }

    @Test func `nobody makes room while turns end by themselves`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let turns = Turns(width: 2, limit: Turns.Limit(.seconds(5), on: time))
            let (granted, revoked) = (Recorder<Int>(), Recorder<Int>())
            let leaving = (0..<5).map { number in
                turns.enter(grant: { granted.add(number) }, revoke: { revoked.add(number) })
            }
            let pass: (Duration) async throws -> Void = { try await time.clock.sleep(for: $0) }
            try await pass(.seconds(4))
            leaving[1]()
            try await pass(.seconds(4))
            leaving[2]()
            try await pass(.milliseconds(4_990))
            #expect(granted.all == [0, 1, 2, 3] && revoked.all.isEmpty, "one after another had what it came for")
            try await pass(.milliseconds(20))
            #expect(revoked.all == [0], "nothing has happened for the whole time of a turn")
        }
    }

    @Test func `a timer that fires before it is known leaves no turn to its caller for ever`() {
        let timeline = EagerTimeline()
        let turns = Turns(limit: Turns.Limit(.zero, on: timeline))
        let (granted, revoked) = (Recorder<Int>(), Recorder<Int>())
        let leaving = (0..<3).map { number in
            turns.enter(grant: { granted.add(number) }, revoke: { revoked.add(number) })
        }
        #expect(granted.all == [0] && revoked.all == [0], "the second one has its time claimed at once")
        leaving[0]()
        while timeline.hand.step() {}
        #expect(granted.all == [0, 1] && revoked.all == [0, 1], "the third one waits for the second")
        leaving[1]()
        #expect(granted.all == [0, 1, 2])
        leaving[2]()
    }

    @Test func `no lock is held while somebody is let in: it may leave, and line up again`() {
        let (turns, granted) = (Turns(), Recorder<Int>())
        let again = Mutex(3)
        @Sendable func enter() {
            let turn = Ending<Void>()
            turn.undo(
                turns.enter(grant: {
                    granted.add(1)
                    turn.end()
                    let isMore = again.withLock { again in
                        again -= 1
                        return again > 0
                    }
                    if isMore { enter() }
                })
            )
        }
        enter()
        #expect(granted.all == [1, 1, 1])
    }

    @Test func `on real threads never more have a turn than the width says, and everybody has one`() {
        let turns = Turns(width: 3)
        let inside = Atomic(0)
        let most = Atomic(0)
        let all = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 2_000) { number in
            let turn = Ending<Void>()
            turn.undo(
                turns.enter(grant: {
                    let now = inside.add(1, ordering: .sequentiallyConsistent).newValue
                    most.max(now, ordering: .sequentiallyConsistent)
                    all.add(1, ordering: .sequentiallyConsistent)
                    inside.subtract(1, ordering: .sequentiallyConsistent)
                    turn.end()
                })
            )
        }
        #expect(all.load(ordering: .sequentiallyConsistent) == 2_000)
        #expect((1...3).contains(most.load(ordering: .sequentiallyConsistent)))
        #expect(inside.load(ordering: .sequentiallyConsistent) == 0)
    }

    @Test func `on real threads tasks that are cancelled while they wait leave no place taken`() async throws {
        let (turns, timeline, counts) = (Turns(), PatientTimeline(), Counts())
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                group.addTask {
                    guard let leave = try? await turns.enter(on: timeline) else { return }
                    if counts.inside.add(1, ordering: .sequentiallyConsistent).newValue != 1 {
                        counts.wrong.add(1, ordering: .relaxed)
                    }
                    await Task.yield()
                    counts.inside.subtract(1, ordering: .sequentiallyConsistent)
                    leave()
                }
                if number == 200 { group.cancelAll() }
            }
        }
        #expect(counts.wrong.load(ordering: .relaxed) == 0)
        let leave = try await turns.enter(on: timeline)
        leave()
    }
}

private final class Counts: Sendable {
    let inside = Atomic(0)
    let wrong = Atomic(0)
}
