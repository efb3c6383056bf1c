import Synchronization
import Testing

@testable import BLEStreams

@Suite struct MailboxTests {
    /// A mailbox whose wake-ups are counted, and its consumer's side.
    private struct Post<Element: Sendable> {
        let wakes = Recorder<Void>()
        let closings = Recorder<Void>()
        let mailbox: Mailbox<Element>
        let cursor: Cursor<Element>

        init(_ policy: BufferPolicy) {
            let (wakes, closings) = (wakes, closings)
            mailbox = Mailbox(policy: policy, waker: Waker { wakes.add(()) })
            cursor = mailbox.cursor { closings.add(()) }
        }

        /// The elements that are there now.
        func takeAll() throws -> [Element] {
            var elements: [Element] = []
            while case .element(let element) = try cursor.poll() { elements.append(element) }
            return elements
        }

        /// What is there next, in words; a gap as the closure says it.
        func next(_ words: (StreamGap) -> String) throws -> String {
            switch try cursor.poll() {
            case .element(let element): "\(element)"
            case .gap(let gap): words(gap)
            case .pending: "pending"
            case .end: "end"
            }
        }

        /// A subscription reports the break of its link, which has lasted for so long.
        func report(_ linkBreak: LinkBreak, for duration: Duration) {
            var gap = StreamGap(reason: CancellationError(), duration: duration)
            gap.breaks = [linkBreak]
            mailbox.pass(gap)
        }

        var counts: [Int] {
            let counters = mailbox.counters
            return [counters.received, counters.delivered, counters.dropped, counters.waiting, counters.highWaterMark]
        }
    }

    @Test func `an unbounded buffer keeps everything, in order`() throws {
        let post = Post<Int>(.unbounded)
        post.mailbox.send(contentsOf: 0..<100_000)
        #expect(try post.takeAll() == Array(0..<100_000))
        #expect(post.counts == [100_000, 100_000, 0, 0, 100_000])
    }

    @Test func `a break of the link that several report is told once, and what is lost beside it, too`() throws {
        let post = Post<Int>(.unbounded)
        let linkBreak = LinkBreak()
        func report(_ seconds: Int) { post.report(linkBreak, for: .seconds(seconds)) }
        func next() throws -> String { try post.next { "\($0.dropped) dropped in \($0.duration)" } }
        report(3)
        report(4)
        post.mailbox.send(1)
        report(5)
        post.mailbox.send(2)
        report(6)
        post.mailbox.lost(2)
        post.mailbox.send(3)
        let seen = try (0..<6).map { _ in try next() }
        #expect(seen == ["0 dropped in 4.0 seconds", "1", "2", "2 dropped in 0.0 seconds", "3", "pending"])
    }

    @Test func `a link that is lost again and again while the consumer takes nothing doesn't fill the memory`() throws {
        let post = Post<Int>(.newest(2))
        weak var first: LinkBreak?
        for second in 1...10_000 {
            let linkBreak = LinkBreak()
            if second == 1 { first = linkBreak }
            var gap = StreamGap(reason: CancellationError(), duration: .seconds(1))
            gap.breaks = [linkBreak]
            // Two subscriptions of one session.
            post.mailbox.pass(gap)
            post.mailbox.pass(gap)
            if second.isMultiple(of: 100) { post.mailbox.send(second) }
        }
        #expect(first == nil)
        guard case .gap(let gap) = try post.cursor.poll() else {
            Issue.record("no gap")
            return
        }
        #expect(gap.dropped == 98 && gap.duration == .seconds(9900))
    }

    @Test func `counters are exact at any time, also for what the consumer took in one go`() throws {
        let post = Post<Int>(.unbounded)
        post.mailbox.send(contentsOf: 1...5)
        #expect(post.counts == [5, 0, 0, 5, 5])
        _ = try post.cursor.poll()
        #expect(post.counts == [5, 1, 0, 4, 5])
        post.mailbox.send(6)
        #expect(post.counts == [6, 1, 0, 5, 5])
        _ = try post.cursor.poll()
        #expect(post.counts == [6, 2, 0, 4, 5])
        post.cursor.close()
        #expect(post.counts == [6, 2, 4, 0, 5])
    }

    @Test func `what is behind a gap that was taken has left the buffer, which holds as many as before`() throws {
        let post = Post<Int>(.newest(2))
        post.mailbox.send(contentsOf: 1...3)
        #expect(post.counts == [3, 0, 1, 2, 2])
        guard case .gap = try post.cursor.poll() else {
            Issue.record("no gap")
            return
        }
        post.mailbox.send(contentsOf: 4...5)
        #expect(post.counts == [5, 1, 2, 2, 2])
        guard case .element(2) = try post.cursor.poll() else {
            Issue.record("no value")
            return
        }
        #expect(post.counts == [5, 1, 2, 2, 2])
        _ = try post.cursor.poll()
        // The consumer leaves without what is behind the second gap.
        post.cursor.close()
        #expect(post.counts == [5, 1, 4, 0, 2])
    }

    @Test func `a break of the link that several report with what was displaced is told once, and then a value`() throws
    {
        let post = Post<Int>(.newest(1))
        let linkBreak = LinkBreak()
        func report(_ seconds: Int) { post.report(linkBreak, for: .seconds(seconds)) }
        func next() throws -> String {
            try post.next { "\($0.dropped) dropped, \($0.reason == nil ? "no break" : "a break")" }
        }
        post.mailbox.send(1)
        report(3)
        post.mailbox.send(2)
        var seen = [try next()]
        // The other subscription is made again while the consumer is busy with the gap.
        report(4)
        post.mailbox.send(3)
        seen += try [next(), next()]
        report(5)
        post.mailbox.send(contentsOf: 4...5)
        seen += try [next(), next(), next()]
        #expect(seen == ["1 dropped, a break", "2", "3", "1 dropped, no break", "5", "pending"])
    }

    @Test(arguments: [BufferPolicy.unbounded, .newest(12), .oldest(12), .fail(12)], [1, 7, 10, 12, 13])
    func `what comes at once is treated as if it had come one by one`(policy: BufferPolicy, size: Int) throws {
        let (burst, single) = (Post<Int>(policy), Post<Int>(policy))
        for start in stride(from: 0, to: 60, by: 20) {
            burst.mailbox.send(start)
            single.mailbox.send(start)
            burst.mailbox.send(burst: Array(start + 1...start + size))
            for number in start + 1...start + size { single.mailbox.send(number) }
            burst.mailbox.lost(start / 20)
            single.mailbox.lost(start / 20)
            for _ in 0..<3 {
                let polls = (Result { try burst.cursor.poll() }, Result { try single.cursor.poll() })
                #expect(String(describing: polls.0) == String(describing: polls.1))
            }
            #expect(burst.counts == single.counts)
        }
    }

    @Test func `the newest displace the oldest`() throws {
        let post = Post<Int>(.newest(3))
        post.mailbox.send(contentsOf: 1...5)
        #expect(post.counts == [5, 0, 2, 3, 3])
        guard case .gap(let gap) = try post.cursor.poll() else { throw Stage.failure }
        #expect(gap.dropped == 2)
        guard case .element(3) = try post.cursor.poll() else { throw Stage.failure }
        post.mailbox.send(contentsOf: [6])
        #expect(try post.takeAll() == [4, 5, 6])
        #expect(post.counts == [6, 4, 2, 0, 3])
    }

    @Test func `the oldest stay, and what comes meanwhile is dropped`() throws {
        let post = Post<Int>(.oldest(2))
        post.mailbox.send(contentsOf: 1...3)
        // Taken in one go; the second one still takes up room.
        guard case .element(1) = try post.cursor.poll() else { throw Stage.failure }
        post.mailbox.send(contentsOf: 4...5)
        #expect(post.counts == [5, 1, 2, 2, 2])
        #expect(try post.takeAll() == [2])
        guard case .element(4) = try post.cursor.poll() else { throw Stage.failure }
        #expect(post.counts == [5, 3, 2, 0, 2])
    }

    @Test func `a buffer that fails hands out what it kept, then says why`() throws {
        let post = Post<Int>(.fail(3))
        post.mailbox.send(contentsOf: 1...3)
        guard case .element(1) = try post.cursor.poll() else { throw Stage.failure }
        // Two are in the consumer's hands, so there is room for one.
        #expect(post.mailbox.send(4))
        #expect(!post.mailbox.send(5))
        #expect(!post.mailbox.send(6))
        #expect(post.counts == [6, 1, 2, 3, 3])
        let error = #expect(throws: BLEError.self) { _ = try post.takeAll() }
        #expect(error?.code == .overflow)
        #expect(post.counts == [6, 4, 2, 0, 3])
    }

    @Test(arguments: [BufferPolicy.newest(0), .oldest(-3), .fail(.min)])
    func `a capacity below one is one`(policy: BufferPolicy) throws {
        let post = Post<Int>(policy)
        post.mailbox.send(1)
        guard case .element(1) = try post.cursor.poll() else { throw Stage.failure }
        #expect(post.counts == [1, 1, 0, 0, 1])
    }

    @Test func `a value after the end is dropped and counted; after the consumer has left nothing counts`() throws {
        let post = Post<Int>(.unbounded)
        post.mailbox.send(1)
        post.mailbox.finish()
        #expect(!post.mailbox.send(2))
        #expect(try post.takeAll() == [1])
        #expect(post.counts == [2, 1, 1, 0, 1])
        post.cursor.close()
        #expect(!post.mailbox.send(3))
        post.mailbox.lost(4)
        #expect(post.counts == [2, 1, 1, 0, 1])
    }

    @Test func `the first end counts`() throws {
        let post = Post<Int>(.unbounded)
        post.mailbox.finish(throwing: Stage.failure)
        post.mailbox.finish()
        let error = #expect(throws: BLEError.self) { _ = try post.takeAll() }
        #expect(error?.code == .disconnected)
    }

    @Test func `many values wake once`() throws {
        let post = Post<Int>(.unbounded)
        for number in 0..<1000 { post.mailbox.send(number) }
        #expect(post.wakes.all.count == 1)
        _ = try post.takeAll()
        post.mailbox.send(contentsOf: 0..<1000)
        #expect(post.wakes.all.count == 2)
    }

    @Test func `closing undoes what opening did, once`() {
        let post = Post<Int>(.unbounded)
        post.cursor.close()
        post.cursor.close()
        post.cursor.stop()
        #expect(post.closings.all.count == 1)
    }

    @Test func `stopping closes the source and hands out what is there`() throws {
        let post = Post<Int>(.unbounded)
        post.mailbox.send(contentsOf: 1...2)
        post.cursor.stop()
        #expect(post.closings.all.count == 1)
        #expect(!post.mailbox.send(3))
        #expect(try post.takeAll() == [1, 2])
        guard case .end = try post.cursor.poll() else { throw Stage.failure }
        #expect(post.counts == [3, 2, 1, 0, 2])
    }

    /// Does something when it goes.
    private final class Farewell: Sendable {
        let action: @Sendable () -> Void
        init(_ action: @escaping @Sendable () -> Void) { self.action = action }
        deinit { action() }
    }

    @Test(arguments: [BufferPolicy.newest(1), .oldest(1), .fail(1), .unbounded])
    func `values and errors that look at the stream when they are destroyed don't hang it`(policy: BufferPolicy) {
        struct Parting: Error { let farewell: Farewell }
        let post = Post<Farewell>(policy)
        let mailbox = post.mailbox
        for _ in 0..<3 { mailbox.send(Farewell { _ = mailbox.counters }) }
        mailbox.pass(StreamGap(reason: Parting(farewell: Farewell { _ = mailbox.counters })))
        mailbox.finish(throwing: Parting(farewell: Farewell { _ = mailbox.counters }))
        post.cursor.close()
        #expect(mailbox.counters.waiting == 0)
    }

    @Test func `what waits is let go of when the consumer leaves`() throws {
        let gone = Recorder<Void>()
        let post = Post<Farewell>(.unbounded)
        for _ in 0..<5 { post.mailbox.send(Farewell { gone.add(()) }) }
        _ = try post.cursor.poll()
        #expect(gone.all.count == 1)
        post.cursor.close()
        #expect(gone.all.count == 5)
    }
}
