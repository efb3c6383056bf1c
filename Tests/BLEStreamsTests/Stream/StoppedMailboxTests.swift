import Synchronization
import Testing

@testable import BLEStreams

/// A consumer that has said what it uses, and is stopped.
@Suite struct StoppedMailboxTests {
    /// A mailbox of arrays, and what its consumer leaves when it closes.
    private struct Post {
        let mailbox: Mailbox<[Int]>
        let cursor: Cursor<[Int]>
        let left = Recorder<[Int]>()
        let gaps = Recorder<Int>()

        init(_ policy: BufferPolicy) {
            let mailbox = Mailbox<[Int]>(policy: policy, waker: Waker {})
            let (left, gaps) = (left, gaps)
            self.mailbox = mailbox
            cursor = mailbox.cursor(
                onClose: {
                    let rest = mailbox.takeRest()
                    for (element, gap) in rest.elements {
                        if let gap { gaps.add(gap.dropped) }
                        left.add(element)
                    }
                    if let gap = rest.gap { gaps.add(gap.dropped) }
                },
                suffix: { Array($0.suffix($1)) }
            )
            cursor.used?(0)
        }

        func send(_ numbers: ClosedRange<Int>) { for number in numbers { mailbox.send([number]) } }

        /// The elements until the end, or until there are no more.
        func takeAll() throws -> [Int] {
            var elements: [Int] = []
            while case .element(let element) = try cursor.poll() { elements += element }
            return elements
        }
    }

    @Test(arguments: [BufferPolicy.unbounded, .newest(4), .oldest(4), .fail(4)])
    func `gets what was there, and leaves what comes then behind what it has not used`(policy: BufferPolicy) throws {
        let post = Post(policy)
        post.send(1...4)
        post.cursor.stop()
        post.send(5...9)
        post.cursor.stop()
        #expect(try post.takeAll() == [1, 2, 3, 4])
        #expect(try post.cursor.poll().isEnd)
        post.cursor.close()
        #expect(post.left.all == (1...9).map { [$0] } && post.gaps.all.isEmpty)
    }

    @Test(arguments: [BufferPolicy.newest(4), .oldest(4), .fail(4)])
    func `of very many that come then, the next one is told how many are missing`(policy: BufferPolicy) throws {
        let post = Post(policy)
        post.send(1...2)
        post.cursor.stop()
        post.send(3...3000)
        #expect(try post.takeAll() == [1, 2])
        post.cursor.close()
        #expect(post.left.all.count + post.gaps.all.reduce(0, +) == 3000)
        #expect(post.left.all.prefix(1000) == (1...1000).map { [$0] }[...])
    }

    @Test func `gets the error that was there, behind the elements`() throws {
        let post = Post(.unbounded)
        post.send(1...2)
        post.mailbox.finish(throwing: CancellationError())
        post.cursor.stop()
        var elements: [Int] = []
        #expect(throws: CancellationError.self) {
            while case .element(let element) = try post.cursor.poll() { elements += element }
        }
        #expect(elements == [1, 2])
    }

    @Test func `a buffer that fails is as large as before once what it took over is taken`() throws {
        let mailbox = Mailbox<Int>(policy: .fail(3), waker: Waker {})
        let cursor = mailbox.cursor()
        _ = mailbox.takeOver {
            for number in 0..<10 { mailbox.send(number) }
            return {}
        }
        // As many as ever, beside those that were taken over.
        for number in 10..<13 { mailbox.send(number) }
        for _ in 0..<12 { _ = try cursor.poll() }
        for number in 13..<16 { mailbox.send(number) }
        for _ in 0..<3 { _ = try cursor.poll() }
        #expect(throws: BLEError.self) { _ = try cursor.poll() }
    }

    @Test(arguments: [0, 4])
    func `a buffer that fails holds beyond its capacity what it took over, and nothing else`(_ count: Int) throws {
        let mailbox = Mailbox<Int>(policy: .fail(3), waker: Waker {})
        let cursor = mailbox.cursor()
        for number in 0..<2 { mailbox.send(number) }
        for _ in 0..<3 {
            _ = mailbox.takeOver {
                for number in 0..<count { mailbox.send(number) }
                return {}
            }
        }
        #expect(mailbox.send(2))
        #expect(!mailbox.send(3))
        for _ in 0..<(3 + 3 * count) { _ = try cursor.poll() }
        #expect(throws: BLEError.self) { _ = try cursor.poll() }
    }
}
