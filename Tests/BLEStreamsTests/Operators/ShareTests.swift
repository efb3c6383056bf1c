import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

@Suite(.timeLimit(.minutes(10))) struct ShareTests {
    /// A source that brings what its feeds are told; there is one for each iteration.
    static func fed<Element: Sendable>(_ feeds: Recorder<BLEStream<Element>.Feed>) -> BLEStream<Element> {
        BLEStream<Element> { feed in
            feeds.add(feed)
            return {}
        }
    }

    /// Has consumers come, each in its second, and take so many elements; says what each one saw.
    private func watch(
        seeds: ClosedRange<UInt64> = 1...5,
        _ consumers: [(comesIn: Int, takes: Int)],
        _ build: @escaping @Sendable (Stage) -> BLEStream<String>
    ) async throws -> (outputs: [String], openings: [String]) {
        var first: (outputs: [String], openings: [String])?
        for seed in seeds {
            let result = try await VirtualTime.run(seed: seed) { time in
                let stage = Stage(time)
                let stream = build(stage)
                let outputs = await withTaskGroup(of: (Int, String).self) { group in
                    for (number, consumer) in consumers.enumerated() {
                        group.addTask {
                            // A little before; so no two things happen at once.
                            await stage.work(for: consumer.comesIn, and: .milliseconds(-100 * (number + 1)))
                            var marbles = Marbles()
                            do {
                                for try await element in stream.prefix(consumer.takes) {
                                    marbles.add(.element(element), stage.second)
                                }
                                marbles.add(.end, stage.second)
                            } catch {
                                marbles.add(.failure, stage.second)
                            }
                            return (number, marbles.description)
                        }
                    }
                    return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
                }
                return (consumers.indices.map { outputs[$0] ?? "" }, stage.openings.map(\.description))
            }
            if let first {
                #expect(result.0 == first.outputs, "another seed, another output")
                #expect(result.1 == first.openings)
            }
            first = first ?? result
        }
        return try #require(first)
    }

    @Test func `consumers share one iteration of the upstream, started by the first and ended by the last`()
        async throws
    {
        let seen = try await watch([(1, 3), (3, 3)]) { $0.source("-a-b-c-d-e-f").share() }
        // Opened shortly before second 1.
        #expect(seen.outputs == ["-a-b-(c|)", "---b-c-(d|)"])
        #expect(seen.openings == ["0..<7"])
    }

    @Test func `who comes after the end starts it afresh`() async throws {
        let seen = try await watch([(1, 9), (6, 9)]) { $0.source("-a-|", "-b|").share(replay: 3) }
        #expect(seen.outputs == ["-a-|", "------b|"])
        #expect(seen.openings == ["0..<3", "5..<7"])
    }

    @Test func `who comes after the last has left starts it afresh, without replay`() async throws {
        let seen = try await watch([(1, 1), (6, 1)]) { $0.source("-a-", "-b-").share(replay: 3) }
        #expect(seen.outputs == ["-(a|)", "------(b|)"])
        #expect(seen.openings == ["0..<1", "5..<6"])
    }

    @Test func `replay gives the last elements to who comes later`() async throws {
        let seen = try await watch([(1, 9), (5, 9)]) { $0.source("-abcd-e|").share(replay: 2) }
        #expect(seen.outputs == ["-abcd-e|", "----(bcd)-e|"])
    }

    @Test func `what would be replayed is released with the last consumer`() throws {
        let feeds = Recorder<BLEStream<Flag>.Feed>()
        let shared = Self.fed(feeds).share(replay: 1)
        weak var element: Flag?
        do {
            let consumer = shared.open(Waker {})
            guard case .pending = try consumer.poll() else {
                Issue.record("an element before any came")
                return
            }
            let new = Flag()
            element = new
            feeds.all.first?.send(new)
            guard case .element = try consumer.poll() else {
                Issue.record("the element is missing")
                return
            }
            consumer.close()
        }
        #expect(element == nil)
        withExtendedLifetime(shared) {}
    }

    @Test(arguments: [
        ("-ab~c--d|", 2, ["-abGc--d|", "-----(bGc)-d|"]),
        ("-ab~c--d|", 1, ["-abGc--d|", "-----c-d|"]),
        ("-ab~---d|", 1, ["-abG---d|", "-----(bG)-d|"]),
        ("~--a---d|", 1, ["G--a---d|", "-----a-d|"]),
    ])
    func `who comes later sees the gaps between and behind what is replayed`(
        diagram: String,
        replay: Int,
        outputs: [String]
    ) async throws {
        let seen = try await watch([(1, 9), (6, 9)]) { stage in
            stage.source(diagram).share(replay: replay).withGaps().map { $0.value ?? "G" }
        }
        #expect(seen.outputs == outputs)
    }

    @Test func `chunks from before and behind a lost link that are replayed are no message together`() async throws {
        let seen = try await watch([(1, 9), (6, 9)]) { stage in
            stage.source("-[x;][ab]~[c;]--[d;]|").map { Array($0.utf8) }.share(replay: 2)
                .assembled(until: .delimiter(";")).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(seen.outputs == ["-x--c--d|", "-----c-d|"])
    }

    @Test func `an error reaches every consumer`() async throws {
        let seen = try await watch([(1, 9), (3, 9)]) { $0.source("-a-b#").share() }
        #expect(seen.outputs == ["-a-b#", "---b#"])
        #expect(seen.openings == ["0..<4"])
    }

    @Test func `a slow consumer delays no other and meets its own buffer's policy`() async throws {
        try await VirtualTime.run { time in
            let stage = Stage(time)
            let shared = stage.source("-abcdef|").share(buffer: .newest(2))
            async let fast = shared.collect()
            async let slow: [String] = {
                var seen: [String] = []
                for try await element in shared {
                    seen.append(element)
                    await stage.work(for: 10)
                }
                return seen
            }()
            let seenFast = try await fast
            #expect(seenFast == ["a", "b", "c", "d", "e", "f"])
            #expect(time.now == .seconds(7))
            let seenSlow = try await slow
            #expect(seenSlow == ["a", "e", "f"])
            #expect(shared.counters.received == 12)
            #expect(shared.counters.delivered == 9)
            #expect(shared.counters.dropped == 3)
        }
    }

    @Test func `a cancelled consumer leaves the others alone`() async throws {
        try await VirtualTime.run { time in
            let stage = Stage(time)
            // Its filter passes nothing for the cancelled one to find.
            let shared = stage.source("a-b-c-|").filter { _ in true }.share()
            await withTaskGroup(of: [String]?.self) { group in
                group.addTask { try? await shared.collect() }
                await stage.work(for: 1)
                await withTaskGroup(of: Void.self) { inner in
                    inner.addTask { _ = try? await shared.collect() }
                    await stage.work(for: 2)
                    inner.cancelAll()
                }
                let all = await group.next()
                #expect(all == ["a", "b", "c"])
            }
            #expect(stage.openings.count == 1)
        }
    }

    @Test(arguments: [false, true])
    func `a consumer that is cancelled while it polls for all takes nothing from them`(isMerged: Bool) async throws {
        let ones = BLEStream([0, 0, 1]).filter { $0 == 1 }
        let shared = (isMerged ? ones.merge(with: BLEStream<Int> { _ in {} }) : ones).share()
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let woken = Recorder<Int>()
            let (first, second) = (shared.open(Waker {}), shared.open(Waker { woken.add(2) }))
            // It gives up behind the first zero, and says so to nobody before it leaves.
            guard case .pending = try first.poll(), case .pending = try second.poll() else { return false }
            let before = woken.all.count
            first.close()
            #expect(woken.all.count > before, "who stays must poll now")
            return await Task {
                guard case .element(1)? = try? second.poll() else { return false }
                second.close()
                return true
            }.value
        }
        #expect(try await cancelled.value)
    }

    @Test func `a consumer that is cancelled while it polls for all leaves them the message of a new beginning`()
        async throws
    {
        let chunks = BLEStream<[UInt8]>(.values, timeline: RealTimeline()) { waker in
            let mailbox = Mailbox<[UInt8]>(policy: .unbounded, waker: waker)
            // The end of a message whose length is unknown, and behind a lost link a whole one.
            mailbox.send(contentsOf: [[7], []])
            mailbox.interrupted(by: Stage.failure, for: .seconds(1))
            mailbox.send([1, 42])
            var cursor = mailbox.cursor()
            cursor.place = ConsumerPlace(of: waker)
            cursor.place?.beginsInMessage = true
            return cursor
        }
        let shared = chunks.filter { !$0.isEmpty }.assembled(until: .lengthPrefix(octets: 1)).share()
        let cancelled = Task { () async throws -> [UInt8]? in
            let (first, second) = (shared.open(Waker {}), shared.open(Waker {}))
            withUnsafeCurrentTask { $0?.cancel() }
            // It gives up behind the end of the message, and then behind the empty chunk.
            guard try first.poll().isPending, try first.poll().isPending else { return nil }
            first.close()
            return await Task {
                let isGap = if case .gap? = try? second.poll() { true } else { false }
                let message = try? second.poll().element
                second.close()
                return isGap ? message : nil
            }.value
        }
        #expect(try await cancelled.value == [42])
    }

    @Test func `a consumer that joins while an element is handed out is woken for the next one`() throws {
        let feeds = Recorder<BLEStream<Int>.Feed>()
        let shared = Self.fed(feeds).share()
        let (isDue, waits, wasWoken) = (Flag(), Flag(), Flag())
        // Set by the closure, which is called on this thread.
        nonisolated(unsafe) var late: Cursor<Int>?
        // Joins when the first one is woken, which has the upstream then; polls, finds nothing, and waits.
        let join: @Sendable () -> Void = {
            guard isDue.isSet, !waits.isSet else { return }
            late = shared.open(Waker { if waits.isSet { wasWoken.set() } })
            if case .pending? = try? late?.poll() { waits.set() }
        }
        let first = shared.open(Waker(join))
        #expect(try first.poll().isPending)
        feeds.all.first?.send(contentsOf: [1, 2])
        isDue.set()
        #expect(try first.poll().element == 1)
        // The first one may be busy with it for long, and the second element is there.
        #expect(waits.isSet && wasWoken.isSet)
        first.close()
        late?.close()
    }

    @Test func `a consumer that is stopped while another one polls for all gets all that has come`() throws {
        let feeds = Recorder<BLEStream<Int>.Feed>()
        let shared = Self.fed(feeds).share()
        let (isDue, isStopped) = (Flag(), Flag())
        // Used by the closure, which is called on this thread.
        nonisolated(unsafe) var stopped: Cursor<Int>?
        // It is stopped when it is woken for the first element: the other one has the upstream then.
        let stop: @Sendable () -> Void = {
            guard isDue.isSet, !isStopped.isSet else { return }
            isStopped.set()
            stopped?.stop()
        }
        let first = shared.open(Waker {})
        stopped = shared.open(Waker(stop))
        #expect(try first.poll().isPending)
        feeds.all.first?.send(contentsOf: [1, 2])
        isDue.set()
        #expect(try first.poll().element == 1)
        #expect(isStopped.isSet)
        var seen: [Int] = []
        var polled = try stopped?.poll()
        while let number = polled?.element {
            seen.append(number)
            polled = try stopped?.poll()
        }
        #expect(seen == [1, 2])
        #expect(polled?.isEnd == true, "it goes on")
        first.close()
        stopped?.close()
        // The closure that it has uses it.
        stopped = nil
    }

    @Test func `a consumer that is stopped while another one polls in vain is woken for its end`() throws {
        let feeds = Recorder<BLEStream<Int>.Feed>()
        let (waits, wasWoken) = (Flag(), Flag())
        // Used by the closure, which is called on this thread.
        nonisolated(unsafe) var stopped: Cursor<Int>?
        // It is stopped, and waits for its end, while the other one has the upstream and finds nothing.
        let shared = Self.fed(feeds).filter { _ in
            stopped?.stop()
            if try stopped?.poll().isPending == true { waits.set() }
            return false
        }.share()
        let first = shared.open(Waker {})
        stopped = shared.open(Waker { if waits.isSet { wasWoken.set() } })
        #expect(try first.poll().isPending)
        feeds.all.first?.send(1)
        #expect(try first.poll().isPending, "an element that was filtered out")
        #expect(waits.isSet && wasWoken.isSet)
        #expect(try stopped?.poll().isEnd == true, "it goes on")
        first.close()
        stopped?.close()
        // The closure that it has uses it.
        stopped = nil
    }

    @Test func `a consumer that polls while another one asks for the part of a message is woken`() throws {
        let wasWoken = Flag()
        // Used by the closure, which is called on this thread.
        nonisolated(unsafe) var other: Cursor<Int>?
        let source = BLEStream<Int>(.values, timeline: RealTimeline()) { _ in
            Cursor<Int>(
                poll: { .pending },
                unfinished: { _ in
                    // It finds nothing, since the upstream is locked, and waits.
                    _ = try? other?.poll()
                    return UnfinishedParts()
                },
                stop: {},
                close: {}
            )
        }
        let shared = source.share()
        let first = shared.open(Waker {})
        other = shared.open(Waker { wasWoken.set() })
        #expect(try first.poll().isPending)
        _ = first.unfinished(.all)
        #expect(wasWoken.isSet)
        first.close()
        other?.close()
        // The closure that it has uses it.
        other = nil
    }
}
