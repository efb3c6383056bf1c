import BLERadio

/// One of two upstreams that are read together, and its current element.
struct PairedUpstream<Element: Sendable> {
    let cursor: Cursor<Element>
    var element: Element?
    private(set) var isOver = false
    private(set) var hasFailed = false

    init(_ cursor: Cursor<Element>) { self.cursor = cursor }

    /// Whether it has no current element, and will never have one.
    var isFruitless: Bool { isOver && element == nil }

    /// It has failed: it isn't polled any more, and keeps its current element.
    mutating func fail() { (isOver, hasFailed) = (true, true) }

    /// The part of a message that no error of its own hands out, and no later stream begins with.
    var lostPart: UnfinishedParts { hasFailed ? UnfinishedParts() : cursor.unfinished(.lost) }

    /// The error of the other upstream, with the part of a message that this one has.
    func completing(_ error: any Error) -> any Error {
        var failure = FirstFailure()
        failure.add(error)
        failure.add(lostPart)
        return failure.thrown ?? error
    }

    /// Takes the next element in place of the current one.
    mutating func advance() throws -> PairedStep {
        if isOver { return .nothing }
        switch try cursor.poll() {
        case .element(let next):
            element = next
            return .came
        case .gap(let gap): return .gap(gap)
        case .pending: return .nothing
        case .end:
            isOver = true
            return .nothing
        }
    }
}

/// The result of polling one of two upstreams.
enum PairedStep {
    case came
    case gap(StreamGap)
    case nothing
}

extension BLEStream {
    /// A stream made from this one and another one, which are opened together.
    func paired<Other: Sendable, Output: Sendable>(
        with other: BLEStream<Other>,
        _ operation: String,
        _ makePoll: @escaping @Sendable (Cursor<Element>, Cursor<Other>) -> () throws -> Polled<Output>
    ) -> BLEStream<Output> {
        let (open, openOther) = (open, other.open)
        return BLEStream<Output>(
            StreamSubject(operation: operation, object: "of 2 streams"),
            timeline: timeline,
            counting: StreamCounting(of: [counting, other.counting]),
            open: { waker in
                let (first, second) = (open(waker), openOther(waker))
                return Cursor(
                    poll: makePoll(first, second),
                    unfinished: { scope in
                        var parts = first.unfinished(scope)
                        parts.add(second.unfinished(scope))
                        return parts
                    },
                    stop: {
                        first.stop()
                        second.stop()
                    },
                    close: {
                        first.close()
                        second.close()
                    }
                )
            }
        )
    }
}
