import BLEProtocol
import BLEStreams

/// What operators promise, as simply as can be: a stream is looked at whenever anything may have happened to it. There
/// are no timers, wake-ups, locks or tasks, and a buffer is a list.
class ReferenceStream {
    /// An element, or a gap.
    enum Item {
        case element(Int)
        case gap(StreamGap)
    }

    enum Answer {
        case item(Item)
        case nothing
        case end
        case failure(any Error)
    }

    func next() -> Answer { .end }
    func stop() {}
    func close() {}

    static func text(of item: Gapped<Int>) -> String {
        switch item {
        case .value(let value): "\(value)"
        case .gap(let gap): "gap of \(gap.dropped), \(gap.duration), \(gap.reason.map { text(of: $0) } ?? "no reason")"
        }
    }

    static func text(of error: any Error) -> String { (error as? BLEError).map { "\($0.code)" } ?? "\(error)" }

    static func sum(_ gap: StreamGap?, _ next: StreamGap) -> StreamGap {
        guard let gap else { return next }
        return StreamGap(
            reason: gap.reason ?? next.reason,
            duration: gap.duration + next.duration,
            dropped: gap.dropped + next.dropped
        )
    }

    static func error(_ code: BLEError.Code) -> any Error { BLEError(code, operation: "values", cause: "reference") }
}

extension ReferenceStream {
    /// A buffer with a policy: a list of elements and gaps.
    final class Buffer {
        /// Those of all iterations.
        final class Counts { var counters = StreamCounters() }

        private let policy: BufferPolicy
        private let counts: Counts
        private var items: [Item] = []
        /// The element behind the gap that was taken last, which nothing displaces.
        private var held: Item?
        private var end: Answer?

        init(_ policy: BufferPolicy, _ counts: Counts) { (self.policy, self.counts) = (policy, counts) }

        var isOver: Bool { end != nil }

        private var count: Int { items.count { if case .element = $0 { true } else { false } } }

        private var room: Int {
            switch policy {
            case .unbounded: .max
            case .newest(let room), .oldest(let room), .fail(let room): room
            }
        }

        func add(_ element: Int) {
            counts.counters.received += 1
            guard end == nil else {
                counts.counters.dropped += 1
                return
            }
            items.append(.element(element))
            if count > room { dropOne() }
            let waiting = min(count + (held == nil ? 0 : 1), room)
            counts.counters.highWaterMark = max(counts.counters.highWaterMark, waiting)
        }

        private func dropOne() {
            counts.counters.dropped += 1
            if case .newest = policy { return dropFirst() }
            items.removeLast()
            if case .fail = policy { return finish(.failure(ReferenceStream.error(.overflow))) }
            add(StreamGap(dropped: 1))
        }

        /// The oldest element becomes a gap, with those before and behind it.
        private func dropFirst() {
            let one = StreamGap(dropped: 1)
            var sum: StreamGap?
            var isDropped = false
            // There is another element behind it.
            while let item = items.first {
                switch item {
                case .gap(let gap): sum = ReferenceStream.sum(sum, gap)
                case .element where isDropped: return items.insert(.gap(ReferenceStream.sum(sum, one)), at: 0)
                case .element: isDropped = true
                }
                items.removeFirst()
            }
        }

        func add(_ gap: StreamGap) {
            guard end == nil else { return }
            var sum = gap
            if case .gap(let last)? = items.last {
                items.removeLast()
                sum = ReferenceStream.sum(last, gap)
            }
            items.append(.gap(sum))
        }

        func lose(_ count: Int) {
            counts.counters.received += count
            counts.counters.dropped += count
            add(StreamGap(dropped: count))
        }

        func finish(_ answer: Answer) { end = end ?? answer }

        func next() -> Answer {
            guard let item = held.take() ?? (items.isEmpty ? nil : items.removeFirst()) else { return end ?? .nothing }
            switch (item, policy, items.first) {
            case (.element, _, _): counts.counters.delivered += 1
            case (.gap, .newest, .element?): held = items.removeFirst()
            case (.gap, _, _): break
            }
            return .item(item)
        }

        func close() {
            counts.counters.dropped += count + (held == nil ? 0 : 1)
            (items, held, end) = ([], nil, end ?? .end)
        }
    }
}

extension ReferenceStream {
    /// Plays a composition.
    final class Stage {
        private final class Member {
            let consumer: ComposedPlay.Consumer
            var stream: ReferenceStream?
            var readyAt: Int
            var isOver = false
            var seen: ComposedSight

            init(_ consumer: ComposedPlay.Consumer, _ play: ComposedPlay) {
                (self.consumer, readyAt) = (consumer, consumer.begins)
                seen = ComposedSight(in: play)
            }
        }

        private let play: ComposedPlay
        private(set) var now = 0
        private var moments: Set<Int> = []
        var openings: [(source: Int, opened: Int, closed: [Int])] = []
        /// Those of the stream that was built last: of its last buffer, or buffers.
        var counts: [Buffer.Counts] = []

        init(_ play: ComposedPlay) { self.play = play }

        /// Has everything looked at, at a moment.
        func look(at moment: Int) { if moment > now { moments.insert(moment) } }

        func source(_ number: Int) -> ComposedPlay.Source { play.sources[number] }

        func outcome() -> ComposedPlay.Outcome {
            let open = build(play.stream)
            let members = play.consumers.map { Member($0, play) }
            for member in members { moments.formUnion([member.consumer.begins, member.consumer.isCancelled]) }
            while let moment = moments.min() {
                moments.remove(moment)
                now = moment
                // Twice: what one of them does may be news for another.
                for member in members + members { step(member, open) }
            }
            var counters = StreamCounters()
            for count in counts.map(\.counters) {
                counters.received += count.received
                counters.delivered += count.delivered
                counters.dropped += count.dropped
                counters.highWaterMark = max(counters.highWaterMark, count.highWaterMark)
            }
            return ComposedPlay.Outcome(
                seen: members.map(\.seen.lines),
                openings: openings.map { "\($0.source): \($0.opened)..<\($0.closed)" }.sorted(),
                counters: play.compared(counters)
            )
        }

        private func step(_ member: Member, _ open: () -> ReferenceStream) {
            while !member.isOver, member.readyAt <= now {
                guard now < member.consumer.isCancelled else { return leave(member, "CancellationError()") }
                let stream = member.stream ?? open()
                member.stream = stream
                switch stream.next() {
                case .nothing: return
                case .end: leave(member, "end")
                case .failure(let error): leave(member, ReferenceStream.text(of: error))
                case .item(let item):
                    guard member.seen.add(gapped(item), at: now) else { continue }
                    if member.seen.count == member.consumer.leavesAfter { leave(member, nil) }
                    member.readyAt = now + member.consumer.busy
                    look(at: member.readyAt)
                }
            }
        }

        private func gapped(_ item: Item) -> Gapped<Int> {
            switch item {
            case .element(let element): .value(element)
            case .gap(let gap): .gap(gap)
            }
        }

        private func leave(_ member: Member, _ last: String?) {
            if let last { member.seen.add(last, at: now) }
            member.stream?.close()
            member.isOver = true
        }
    }
}
