import BLERadio
import BLESimulator
import Dispatch
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

@Suite(.timeLimit(.minutes(10))) struct ReplyTests {
    @Test func `a success that comes when nobody waits any more is given up, not lost`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let unwanted = Recorder<Int>()
            let keep: @Sendable (Int) -> Void = { unwanted.add($0) }
            let limit: @Sendable () -> any Error = { CancellationError() }
            await #expect(throws: CancellationError.self) {
                let _: Int = try await reply(on: time, limit: (.seconds(1), limit), unwanted: keep) {
                    finish in
                    // The work was done in the moment in which it is taken back.
                    { finish(.success(7)) }
                }
            }
            #expect(unwanted.all == [7])
        }
    }

    @Test func `what arrives in time is the caller's`() async throws {
        let unwanted = Recorder<Int>()
        let keep: @Sendable (Int) -> Void = { unwanted.add($0) }
        let value: Int = try await reply(on: PatientTimeline(), unwanted: keep) { finish in
            finish(.success(7))
            return {}
        }
        #expect(value == 7 && unwanted.all.isEmpty)
    }

    @Test func `whichever way a wait ends, its limit no longer counts`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let before = time.timerCount
            let limit: @Sendable () -> any Error = { CancellationError() }
            let early: Int = try await reply(on: time, limit: (.seconds(60), limit)) { finish in
                finish(.success(1))
                return {}
            }
            #expect(early == 1 && time.timerCount == before, "the answer comes before the limit is known")
            let later: Int = try await reply(on: time, limit: (.seconds(60), limit)) { finish in
                let answer = time.schedule(after: .seconds(1)) { finish(.success(2)) }
                return { answer.cancel() }
            }
            #expect(later == 2 && time.timerCount == before, "the answer comes while the limit counts")
            let cancelled = await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask {
                    try await reply(on: time, limit: (.seconds(60), limit)) { _ in
                        withUnsafeCurrentTask { $0?.cancel() }
                        return {}
                    }
                }
                return await group.nextResult()
            }
            #expect(throws: CancellationError.self) { try cancelled?.get() }
            #expect(time.timerCount == before, "the caller is cancelled")
        }
    }

    @Test func `a limit that begins with the work doesn't count before that, nor once the wait is over`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let before = time.timerCount
            let undone = Recorder<Int>()
            let limit: @Sendable () -> any Error = { CancellationError() }
            let soon: Int = try await reply(on: time, limitOnceBegun: (.seconds(5), limit)) { begun, finish in
                begun()
                let answer = time.schedule(after: .seconds(1)) { finish(.success(1)) }
                return { answer.cancel() }
            }
            #expect(soon == 1 && time.timerCount == before, "the work begins before it is known how to undo it")
            let late: Int = try await reply(on: time, limitOnceBegun: (.seconds(5), limit)) { begun, finish in
                let turn = time.schedule(after: .seconds(60)) { begun() }
                let answer = time.schedule(after: .seconds(64)) { finish(.success(2)) }
                return {
                    turn.cancel()
                    answer.cancel()
                }
            }
            #expect(late == 2 && time.timerCount == before, "the work waits for its turn for longer than it may take")
            await #expect(throws: CancellationError.self) {
                let _: Int = try await reply(on: time, limitOnceBegun: (.seconds(5), limit)) { begun, _ in
                    begun()
                    return { undone.add(1) }
                }
            }
            #expect(undone.all == [1] && time.timerCount == before, "the limit passes")
            let cancelled = await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask {
                    try await reply(on: time, limitOnceBegun: (.seconds(60), limit)) { begun, _ in
                        withUnsafeCurrentTask { $0?.cancel() }
                        begun()
                        return { undone.add(2) }
                    }
                }
                return await group.nextResult()
            }
            #expect(throws: CancellationError.self) { try cancelled?.get() }
            #expect(undone.all == [1, 2] && time.timerCount == before, "the caller is cancelled before that")
        }
    }

    @Test func `who was cancelled before it began to wait starts nothing`() async {
        let started = Recorder<Int>()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let _: Int = try await reply(on: PatientTimeline()) { _ in
                started.add(1)
                return {}
            }
        }
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(started.all.isEmpty)
    }

    @Test func `a wait that is over while it begins is undone all the same, once`() async {
        let undone = Recorder<Int>()
        let task = Task {
            let _: Int = try await reply(on: PatientTimeline()) { _ in
                // Cancelled before it is known how to undo it.
                withUnsafeCurrentTask { $0?.cancel() }
                return { undone.add(1) }
            }
        }
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(undone.all == [1])
    }

    @Test func `on real threads there is one result, and each success is the caller's or unwanted`() async throws {
        let counts = Counts()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                group.addTask {
                    let unwanted: @Sendable (Int) -> Void = { _ in counts.unwanted.add(1, ordering: .relaxed) }
                    let waiting = Task {
                        try await reply(on: PatientTimeline(), unwanted: unwanted) { finish in
                            counts.started.add(1, ordering: .relaxed)
                            counts.results.enter()
                            DispatchQueue.global().async {
                                finish(.success(number))
                                counts.results.leave()
                            }
                            return {}
                        }
                    }
                    if number.isMultiple(of: 2) { waiting.cancel() }
                    guard let value = try? await waiting.value else { return }
                    #expect(value == number)
                    counts.taken.add(1, ordering: .relaxed)
                }
            }
        }
        // Those that nobody waits for may come yet.
        await withCheckedContinuation { continuation in
            counts.results.notify(queue: .global()) { continuation.resume() }
        }
        let (taken, unwanted) = (counts.taken.load(ordering: .relaxed), counts.unwanted.load(ordering: .relaxed))
        #expect(taken + unwanted == counts.started.load(ordering: .relaxed))
        #expect(taken >= 200, "who isn't cancelled has its result")
    }

    @Test func `cancellation does not disturb clean-up, and its limit ends it with what was said`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let undone = Recorder<Int>()
            let task = await withTaskGroup(of: Int.self) { group in
                group.addTask {
                    await undisturbedReply(on: time, limit: (.seconds(5), 1)) { finish in
                        let timer = time.schedule(after: .seconds(3)) { finish(2) }
                        return { timer.cancel() }
                    }
                }
                group.cancelAll()
                return await group.next()
            }
            #expect(task == 2)
            let late = await undisturbedReply(on: time, limit: (.seconds(5), 1)) { _ in { undone.add(1) } }
            #expect(late == 1 && undone.all == [1])
            #expect(time.now == .seconds(8))
        }
    }
}

private final class Counts: Sendable {
    let started = Atomic(0)
    let taken = Atomic(0)
    let unwanted = Atomic(0)
    /// The results that are on their way.
    let results = DispatchGroup()
}
