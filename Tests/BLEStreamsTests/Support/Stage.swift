import BLERadio
import BLESimulator
import BLEStreams
import Synchronization

/// Sources that play diagrams in virtual time, and a record of when they were opened and closed.
final class Stage: Sendable {
    /// One iteration of a source: the seconds in which it was opened and closed.
    struct Opening: Equatable, Sendable, CustomStringConvertible {
        var opened: Int
        var closed: Int?
        var closings = 0

        /// `2..<5`, or `2...` while it is open.
        var description: String { closed.map { "\(opened)..<\($0)" } ?? "\(opened)..." }
    }

    /// The failure that `#` stands for.
    static let failure = BLEError(.disconnected, operation: "play", cause: "the diagram says so")

    let time: VirtualTime
    private let log = Mutex<[Opening]>([])
    private let timers = Mutex<[RadioActivity]>([])

    init(_ time: VirtualTime) { self.time = time }

    /// All iterations of all sources, in the order in which they were opened.
    var openings: [Opening] { log.withLock { $0 } }

    var second: Int { Int(time.now.components.seconds) }

    /// A source that plays one diagram after the other, one for each iteration; the last one again and again.
    ///
    /// An iteration that nobody ends goes on for ever.
    func source(_ diagrams: String..., buffer: BufferPolicy = .standard) -> BLEStream<String> {
        source(iterations: diagrams, buffer: buffer)
    }

    /// The same, with the diagrams in an array.
    func source(iterations diagrams: [String], buffer: BufferPolicy = .standard) -> BLEStream<String> {
        let iterations = Mutex(0)
        return BLEStream(buffer: buffer, timeline: time) { [self] feed in
            let iteration = iterations.withLock { count in
                defer { count += 1 }
                return count
            }
            let number = log.withLock { log in
                log.append(Opening(opened: second))
                return log.count - 1
            }
            let timers = schedule(Marbles(diagrams[min(iteration, diagrams.count - 1)]), feed)
            return { [self] in
                for timer in timers { timer.cancel() }
                log.withLock { log in
                    log[number].closed = second
                    log[number].closings += 1
                }
            }
        }
    }

    private func schedule(_ marbles: Marbles, _ feed: BLEStream<String>.Feed) -> [RadioActivity] {
        // One timer for each second, since the order of timers that fire at once is anybody's guess.
        Dictionary(grouping: marbles.marks, by: \.second).map { second, marks in
            let play: @Sendable () -> Void = {
                for mark in marks {
                    switch mark.event {
                    case .element(let text): feed.send(text)
                    case .end: feed.finish()
                    case .failure: feed.finish(throwing: Self.failure)
                    case .cancellation: feed.finish(throwing: CancellationError())
                    case .interruption: feed.interrupted(by: Self.failure, for: .seconds(1))
                    case .loss: feed.lost(1)
                    }
                }
            }
            guard second > 0 else {
                play()
                return RadioActivity {}
            }
            return time.schedule(after: .seconds(second), play)
        }
    }

    /// Lets time pass, cancelled or not.
    func work(for seconds: Int, and part: Duration = .zero) async {
        await withCheckedContinuation { continuation in
            timers.withLock { timers in
                timers.append(time.schedule(after: .seconds(seconds) + part) { continuation.resume() })
            }
        }
    }
}
