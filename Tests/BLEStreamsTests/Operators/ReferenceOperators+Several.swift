import BLEStreams

// Operators with several upstreams, or several iterations of one.

final class ReferenceRetry: ReferenceStream {
    private let stage: Stage
    private let pause: Int
    private let attempts: Int
    private let open: () -> ReferenceStream
    private var upstream: ReferenceStream?
    private var failures = 0
    private var wellSince: Int?
    /// When values stopped arriving, and why.
    private var interruption: (since: Int, reason: any Error)?
    private var resumes = 0
    private var held: Int?
    private var isStopped = false

    init(_ stage: Stage, _ pause: Int, _ attempts: Int, _ open: @escaping () -> ReferenceStream) {
        (self.stage, self.pause, self.attempts, self.open) = (stage, pause, attempts, open)
    }

    override func next() -> Answer {
        if let element = held.take() { return .item(.element(element)) }
        while true {
            if upstream == nil {
                if isStopped { return .end }
                guard stage.now >= resumes else { return .nothing }
                upstream = open()
            }
            let answer = upstream?.next() ?? .end
            switch answer {
            case .item(.element(let element)): return came(element)
            case .failure(let error): if !isRetried(error) { return answer }
            case .item, .nothing, .end: return answer
            }
        }
    }

    private func came(_ element: Int) -> Answer {
        wellSince = wellSince ?? stage.now
        guard let (since, reason) = interruption.take() else { return .item(.element(element)) }
        held = element
        return .item(.gap(StreamGap(reason: reason, duration: ComposedStream.time(stage.now - since))))
    }

    private func isRetried(_ error: any Error) -> Bool {
        // Ten seconds are a policy's `stableAfter`.
        if let since = wellSince.take(), stage.now - since >= 10_000_000 { failures = 0 }
        failures += 1
        guard failures <= attempts else { return false }
        resumes = stage.now + pause
        stage.look(at: resumes)
        interruption = interruption ?? (stage.now, error)
        upstream?.close()
        upstream = nil
        return true
    }

    override func stop() {
        isStopped = true
        upstream?.stop()
    }

    override func close() { upstream?.close() }
}

/// An operator with two upstreams that are opened together.
class ReferencePair: ReferenceStream {
    let upstreams: [ReferenceStream]
    var elements: [Int?] = [nil, nil]
    var isOver = [false, false]

    init(_ one: ReferenceStream, _ other: ReferenceStream) { upstreams = [one, other] }

    var isFruitless: Bool { (0...1).contains { isOver[$0] && elements[$0] == nil } }

    var pair: Int? { elements[0].flatMap { one in elements[1].map { ComposedStream.pair(one, $0) } } }

    override func stop() { for upstream in upstreams { upstream.stop() } }
    override func close() { for upstream in upstreams { upstream.close() } }
}

final class ReferenceZip: ReferencePair {
    override func next() -> Answer {
        for side in 0...1 where elements[side] == nil && !isOver[side] {
            let answer = upstreams[side].next()
            switch answer {
            case .item(.element(let element)): elements[side] = element
            case .item(.gap), .failure: return answer
            case .end: isOver[side] = true
            case .nothing: break
            }
        }
        if isFruitless { return .end }
        guard let pair else { return .nothing }
        elements = [nil, nil]
        return .item(.element(pair))
    }
}

final class ReferenceCombined: ReferencePair {
    private var side = 1
    private var failure: (any Error)?

    private var last: Answer { failure.map { .failure($0) } ?? .end }

    override func next() -> Answer {
        var idle = 0
        while idle < 2 {
            side = 1 - side
            idle += 1
            switch isOver[side] ? .nothing : upstreams[side].next() {
            case .item(.element(let element)):
                elements[side] = element
                idle = 0
                if let pair { return .item(.element(pair)) }
            case .item(.gap(let gap)): return .item(.gap(gap))
            case .nothing: break
            case .end: isOver[side] = true
            case .failure(let error):
                isOver[side] = true
                idle = 0
                failure = failure ?? error
                upstreams[1 - side].stop()
            }
            if isFruitless { return last }
        }
        return isOver[0] && isOver[1] ? last : .nothing
    }
}

final class ReferenceTakeUntil: ReferenceStream {
    private let upstream: ReferenceStream
    private let signal: ReferenceStream
    private var isSignalOver = false
    private var failure: (any Error)?

    init(_ upstream: ReferenceStream, _ signal: ReferenceStream) { (self.upstream, self.signal) = (upstream, signal) }

    override func next() -> Answer {
        signals: while !isSignalOver {
            switch signal.next() {
            case .item(.gap): break
            case .nothing: break signals
            case .item(.element):
                upstream.stop()
                endSignal()
            case .end: endSignal()
            case .failure(let error):
                failure = error
                isSignalOver = true
                upstream.stop()
            }
        }
        let answer = upstream.next()
        if let failure, case .end = answer { return .failure(failure) }
        return answer
    }

    private func endSignal() {
        isSignalOver = true
        signal.close()
    }

    override func stop() {
        if !isSignalOver { signal.stop() }
        isSignalOver = true
        upstream.stop()
    }

    override func close() {
        signal.close()
        upstream.close()
    }
}

/// One inner stream after the other.
final class ReferenceFlat: ReferenceOperator {
    private let open: () -> ReferenceStream
    private var inner: (element: Int, stream: ReferenceStream)?
    private var isUpstreamOver = false
    private var isStopped = false

    init(_ upstream: ReferenceStream, _ open: @escaping () -> ReferenceStream) {
        self.open = open
        super.init(upstream)
    }

    override func next() -> Answer {
        while true {
            if inner == nil {
                if isUpstreamOver { return .end }
                let answer = upstream.next()
                switch answer {
                case .item(.element(let element)): inner = (element, open())
                case .end: endUpstream()
                case .failure: return failed(answer)
                case .item, .nothing: return answer
                }
            }
            guard let (element, stream) = inner else { continue }
            let answer = stream.next()
            switch answer {
            case .item(.element(let next)): return .item(.element(ComposedStream.pair(element, next)))
            case .failure: return failed(answer)
            case .item, .nothing: return answer
            case .end:
                // One that was stopped is closed with all.
                if isStopped { return .end }
                stream.close()
                inner = nil
            }
        }
    }

    /// The first error ends all streams.
    private func failed(_ answer: Answer) -> Answer {
        upstream.stop()
        return answer
    }

    private func endUpstream() {
        isUpstreamOver = true
        upstream.close()
    }

    override func stop() {
        (isUpstreamOver, isStopped) = (true, true)
        upstream.stop()
        inner?.stream.stop()
    }

    override func close() {
        upstream.close()
        inner?.stream.close()
    }
}
