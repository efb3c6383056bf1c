import BLERadio
import Dispatch
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// What all else stands on, on real threads: ends race results, and cancellations come first.
@Suite(.timeLimit(.minutes(10))) struct PrimitiveStressTests {
    private struct Limit: Error {}

    private struct Failure: Error {}

    /// What became of one wait.
    private final class Wait: Sendable {
        /// How often a success was brought, and how often nobody wanted one.
        let successes = AtomicCount()
        let unwanted = AtomicCount()
        let undone = AtomicCount()
        let whenUndone = Ending<Void>()
        let isStarted = Flag()
        let finish = Mutex<(@Sendable (Result<Int, any Error>) -> Void)?>(nil)

        func undo() {
            undone.add()
            whenUndone.end()
        }

        func run(on timeline: any Timeline, limit: Duration?, brings early: Int?) async throws -> Int {
            let error: @Sendable () -> any Error = { Limit() }
            let limit = limit.map { ($0, error) }
            let unwanted: @Sendable (Int) -> Void = { _ in self.unwanted.add() }
            return try await reply(on: timeline, limit: limit, unwanted: unwanted) { finish in
                self.isStarted.set()
                self.finish.withLock { $0 = finish }
                if let early {
                    self.successes.add()
                    finish(.success(early))
                }
                return { self.undo() }
            }
        }
    }

    @Test(arguments: Stress.seeds(40))
    func `a wait has one result, each success one taker, and what was given up is undone once`(seed: UInt64) async {
        for round in 0..<20 as Range<UInt64> {
            var chance = Chance(seed: seed &* 100 &+ round)
            let wait = Wait()
            let (hasLimit, early) = (chance.below(2) == 0, chance.below(6) == 0)
            let (first, starts) = (chance.next(), chance.below(3))
            let task = Task.detached {
                try await wait.run(on: HastyTimeline(), limit: hasLimit ? .seconds(1) : nil, brings: early ? 99 : nil)
            }
            await Stress.onThreads(5) { number in
                var chance = Chance(seed: first &+ UInt64(number))
                if number == starts { return task.cancel() }
                // Cancelled before it began, there is never anything to finish.
                while !wait.isStarted.isSet, !task.isCancelled { Stress.dawdle(&chance) }
                guard let finish = wait.finish.withLock({ $0 }) else { return }
                Stress.dawdle(&chance)
                if number < 4 { wait.successes.add() }
                finish(number < 4 ? .success(number) : .failure(Failure()))
            }
            switch await task.result {
            case .success:
                #expect(wait.unwanted.value == wait.successes.value - 1 && wait.undone.value == 0)
            case .failure(is Failure):
                #expect(wait.unwanted.value == wait.successes.value && wait.undone.value == 0)
            case .failure(let error):
                #expect(error is CancellationError || hasLimit && error is Limit)
                #expect(wait.unwanted.value == wait.successes.value)
                // It may be under way still, where a limit has passed.
                if wait.isStarted.isSet { try? await wait.whenUndone.wait(on: PatientTimeline()) }
                #expect(wait.undone.value == (wait.isStarted.isSet ? 1 : 0))
            }
            // It leads back to the wait, by what is done with the successes that nobody wants.
            wait.finish.withLock { $0 = nil }
        }
    }

    @Test(arguments: Stress.seeds(40))
    func `clean-up has its one result, whatever is cancelled, also where its limit races it`(seed: UInt64) async {
        for round in 0..<20 {
            let undone = AtomicCount()
            let task = Task.detached {
                await undisturbedReply(on: HastyTimeline(), limit: (.seconds(1), -1)) { finish in
                    DispatchQueue.global().async { finish(round) }
                    return { undone.add() }
                }
            }
            task.cancel()
            let result = await task.value
            #expect(result == round || result == -1)
            if result == round { #expect(undone.value == 0) }
        }
    }

    @Test(arguments: Stress.seeds(20))
    func `an observer is taken out once, by whoever does so first`(seed: UInt64) async {
        let observers = Mutex(Observers<Int>())
        let (added, removed) = (AtomicCount(), AtomicCount())
        let ids = Mutex<[Observers<Int>.ID]>([])
        await Stress.onThreads(8) { number in
            var chance = Chance(seed: seed &* 10 &+ UInt64(number))
            for value in 0..<300 {
                switch chance.below(20) {
                case 0: removed.add(observers.withLock { $0.removeAll().count })
                case 1: removed.add(observers.withLock { $0.removeAll { $0.isMultiple(of: 7) }.count })
                case 2..<10:
                    // Also one that was taken out before.
                    guard let id = ids.withLock({ $0.randomElement(using: &chance) }) else { continue }
                    if observers.withLock({ $0.remove(id) }) != nil { removed.add() }
                default:
                    let id = observers.withLock { $0.add(value) }
                    added.add()
                    ids.withLock { $0.append(id) }
                }
            }
        }
        let left = observers.withLock { $0.numbered.map(\.id) }
        #expect(added.value == removed.value + left.count)
        #expect(left == left.sorted() && Set(left).count == left.count)
    }

    @Test(arguments: Stress.seeds(40))
    func `an end is heard once by all who want to know, and by nobody twice`(seed: UInt64) async throws {
        let ending = Ending<Int>()
        let (ends, calls) = (AtomicCount(), (0..<8).map { _ in (0..<50).map { _ in AtomicCount() } })
        let reasons = Recorder<Int>()
        let kept = Mutex<[(Int, Int)]>([])
        await Stress.onThreads(8) { number in
            var chance = Chance(seed: seed &* 10 &+ UInt64(number))
            for place in 0..<50 {
                let forget = ending.whenEnded { reason in
                    calls[number][place].add()
                    reasons.add(reason)
                }
                Stress.dawdle(&chance)
                if chance.below(3) == 0 { forget() } else { kept.withLock { $0.append((number, place)) } }
                if chance.below(100) == 0, ending.end(number) { ends.add() }
            }
        }
        if ending.end(8) { ends.add() }
        #expect(ends.value == 1 && Set(reasons.all) == [ending.reason])
        #expect(calls.allSatisfy { $0.allSatisfy { $0.value <= 1 } })
        #expect(kept.withLock { $0 }.allSatisfy { calls[$0.0][$0.1].value == 1 })
    }

    @Test(arguments: Stress.seeds(20))
    func `who waits for an end is answered by it, or by the cancellation of its task`(seed: UInt64) async {
        let (ending, ended, cancelled) = (Ending<Void>(), AtomicCount(), AtomicCount())
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                var chance = Chance(seed: seed &* 100 &+ UInt64(number))
                let (isCancelled, isEnder) = (chance.below(3) == 0, number == 40)
                group.addTask { @concurrent in
                    let task = Task { try await ending.wait(on: PatientTimeline()) }
                    if isCancelled { task.cancel() }
                    if isEnder { ending.end() }
                    switch await task.result {
                    case .success: ended.add()
                    case .failure: cancelled.add()
                    }
                }
            }
        }
        #expect(ended.value + cancelled.value == 60 && ended.value > 0)
    }

    @Test(arguments: Stress.seeds(20))
    func `what goes on unattended answers once, and is let go once`(seed: UInt64) async {
        let (answers, ends, group) = (AtomicCount(), AtomicCount(), DispatchGroup())
        await Stress.onThreads(6) { number in
            var chance = Chance(seed: seed &* 10 &+ UInt64(number))
            for _ in 0..<50 {
                let isEarly = chance.below(4) == 0
                group.enter()
                group.enter()
                unattended { (answer: @escaping @Sendable (Int) -> Void) in
                    if isEarly { answer(number) } else { DispatchQueue.global().async { answer(number) } }
                    return RadioActivity {
                        ends.add()
                        group.leave()
                    }
                } answer: {
                    answers.add($0 == number ? 1 : 1000)
                    group.leave()
                }
            }
        }
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        #expect(answers.value == 300 && ends.value == 300)
    }

    @Test(arguments: Stress.seeds(20))
    func `turns that are asked back, left twice and given up come to everybody else`(seed: UInt64) async {
        let turns = Turns(width: 2, limit: Turns.Limit(.milliseconds(1), on: HastyTimeline()))
        let (inside, wrong, done, group) = (AtomicCount(), AtomicCount(), AtomicCount(), DispatchGroup())
        await Stress.onThreads(8) { number in
            var chance = Chance(seed: seed &* 10 &+ UInt64(number))
            for _ in 0..<40 {
                let (turn, staysOutside) = (Ending<Void>(), chance.below(4) == 0)
                group.enter()
                let leave = turns.enter {
                    if !staysOutside, inside.add() > 2 { wrong.add() }
                    DispatchQueue.global().async { turn.end() }
                } revoke: {
                    if staysOutside { turn.end() }
                }
                turn.undo {
                    if !staysOutside { inside.add(-1) }
                    leave()
                    leave()
                    done.add()
                    group.leave()
                }
                // It gives up, whether its turn has come or is coming now.
                if staysOutside { turn.end() }
            }
        }
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        #expect(done.value == 320 && wrong.value == 0 && inside.value == 0)
    }
}
