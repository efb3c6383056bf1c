import BLEStreams

// Operators with one upstream, each by what its documentation says.

final class ReferenceSource: ReferenceStream {
    private let stage: Stage
    private let buffer: Buffer
    private let number: Int
    private var rest: ComposedPlay.Script
    private var isOver = false

    init(_ stage: Stage, _ source: Int, _ counts: Buffer.Counts) {
        self.stage = stage
        let begun = stage.openings.count { $0.source == source }
        let (scripts, now) = (stage.source(source).scripts, stage.now)
        number = stage.openings.count
        stage.openings.append((source, now, []))
        buffer = Buffer(stage.source(source).buffer, counts)
        rest = scripts[min(begun, scripts.count - 1)].map { (now + $0.after, $0.events) }
        for step in rest { stage.look(at: step.after) }
    }

    private func arrive() {
        while let step = rest.first, step.after <= stage.now, !isOver {
            rest.removeFirst()
            for event in step.events {
                switch event {
                case .elements(let elements): for element in elements { buffer.add(element) }
                case .lost(let count): buffer.lose(count)
                case .interrupted(let duration):
                    buffer.add(StreamGap(reason: ComposedStage.failure, duration: ComposedStream.time(duration)))
                case .end: buffer.finish(.end)
                case .failure: buffer.finish(.failure(ComposedStage.failure))
                }
            }
        }
    }

    override func next() -> Answer {
        arrive()
        return buffer.next()
    }

    override func stop() {
        arrive()
        if !isOver { stage.openings[number].closed.append(stage.now) }
        isOver = true
        buffer.finish(.end)
    }

    override func close() {
        stop()
        buffer.close()
    }
}

final class ReferenceTimer: ReferenceStream {
    private let stage: Stage
    private let due: Int

    init(_ stage: Stage, _ delay: Int) {
        (self.stage, due) = (stage, stage.now + delay)
        stage.look(at: due)
    }

    override func next() -> Answer { stage.now >= due ? .item(.element(0)) : .nothing }
}

/// An operator with one upstream.
class ReferenceOperator: ReferenceStream {
    let upstream: ReferenceStream

    init(_ upstream: ReferenceStream) { self.upstream = upstream }

    override func stop() { upstream.stop() }
    override func close() { upstream.close() }
}

final class ReferenceFilter: ReferenceOperator {
    private let divisor: Int

    init(_ upstream: ReferenceStream, _ divisor: Int) {
        self.divisor = divisor
        super.init(upstream)
    }

    override func next() -> Answer {
        while true {
            let answer = upstream.next()
            guard case .item(.element(let element)) = answer, element.isMultiple(of: divisor) else { return answer }
        }
    }
}

final class ReferencePrefix: ReferenceOperator {
    private var left: Int

    init(_ upstream: ReferenceStream, _ count: Int) {
        left = count
        super.init(upstream)
    }

    override func next() -> Answer {
        guard left > 0 else { return .end }
        let answer = upstream.next()
        if case .item(.element) = answer { left -= 1 }
        if left == 0 { upstream.close() }
        return answer
    }
}

final class ReferenceBatched: ReferenceOperator {
    private let limit: Int
    private var behind: Answer?

    init(_ upstream: ReferenceStream, _ limit: Int) {
        self.limit = limit
        super.init(upstream)
    }

    override func next() -> Answer {
        if let answer = behind.take() { return answer }
        var batch: [Int] = []
        while batch.count < limit {
            let answer = upstream.next()
            guard case .item(.element(let element)) = answer else {
                if batch.isEmpty { return answer }
                if case .nothing = answer {} else { behind = answer }
                break
            }
            batch.append(element)
        }
        return .item(.element(ComposedStream.sum(batch)))
    }
}

/// `debounce` and `throttle`: a gap comes behind the elements that came before it, also behind one that is held.
final class ReferenceHolding: ReferenceOperator {
    private let stage: Stage
    private let time: Int
    private let isThrottling: Bool
    private var held: (element: Int, due: Int)?
    private var gap: StreamGap?
    private var last: Answer?
    private var isFree = 0

    init(_ stage: Stage, _ upstream: ReferenceStream, _ time: Int, isThrottling: Bool) {
        (self.stage, self.time, self.isThrottling) = (stage, time, isThrottling)
        super.init(upstream)
    }

    override func next() -> Answer {
        while last == nil {
            let answer = upstream.next()
            switch answer {
            case .item(.element(let element)):
                held = (element, isThrottling ? isFree : stage.now + time)
                if let gap = gap.take() { return .item(.gap(gap)) }
                if isThrottling, stage.now >= isFree { return release(element) }
            case .item(.gap(let next)):
                gap = ReferenceStream.sum(gap, next)
                if held == nil, let gap = gap.take() { return .item(.gap(gap)) }
            case .nothing: return whatIsDue()
            case .end, .failure: last = answer
            }
        }
        if let (element, _) = held { return release(element) }
        if let gap = gap.take() { return .item(.gap(gap)) }
        return last ?? .end
    }

    private func whatIsDue() -> Answer {
        guard let (element, due) = held else { return gap.take().map { .item(.gap($0)) } ?? .nothing }
        stage.look(at: due)
        return stage.now >= due ? release(element) : .nothing
    }

    private func release(_ element: Int) -> Answer {
        held = nil
        isFree = stage.now + time
        return .item(.element(element))
    }
}

final class ReferenceTimeout: ReferenceOperator {
    private let stage: Stage
    private let limit: Int
    private var deadline: Int?

    init(_ stage: Stage, _ upstream: ReferenceStream, _ limit: Int) {
        (self.stage, self.limit) = (stage, limit)
        super.init(upstream)
    }

    override func next() -> Answer {
        let answer = upstream.next()
        if case .item(.element) = answer { deadline = nil }
        guard case .nothing = answer else { return answer }
        let due = deadline ?? stage.now + limit
        deadline = due
        stage.look(at: due)
        return stage.now >= due ? .failure(ReferenceStream.error(.timedOut)) : .nothing
    }
}

final class ReferenceBuffered: ReferenceOperator {
    private let buffer: Buffer
    private var isOver = false

    init(_ upstream: ReferenceStream, _ policy: BufferPolicy, _ counts: Buffer.Counts) {
        buffer = Buffer(policy, counts)
        super.init(upstream)
    }

    override func next() -> Answer {
        fill: while !buffer.isOver {
            let answer = upstream.next()
            switch answer {
            case .item(.element(let element)): buffer.add(element)
            case .item(.gap(let gap)): buffer.add(gap)
            case .nothing: break fill
            case .end, .failure: buffer.finish(answer)
            }
        }
        return buffer.next()
    }

    override func close() {
        super.close()
        buffer.close()
    }
}
