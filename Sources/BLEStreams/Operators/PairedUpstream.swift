import BLERadio

/// One of two upstreams that are read together, and the element of it that counts now.
struct PairedUpstream<Element: Sendable> {
    let cursor: Cursor<Element>
    var element: Element?
    private(set) var isOver = false

    init(_ cursor: Cursor<Element>) { self.cursor = cursor }

    /// Whether no element of it counts now, and none will.
    var isFruitless: Bool { isOver && element == nil }

    /// Takes the next element in place of the one that counted.
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

/// What asking one of two upstreams for its next element came to.
enum PairedStep {
    case came
    case gap(StreamGap)
    case nothing
}

extension BLEStream {
    /// A stream that is made of this one and another one, each of which is opened with it.
    func paired<Other: Sendable, Output: Sendable>(
        with other: BLEStream<Other>,
        _ operation: String,
        _ makePoll: @escaping @Sendable (Cursor<Element>, Cursor<Other>) -> () throws -> Polled<Output>
    ) -> BLEStream<Output> {
        let (count, otherCount) = (count, other.count)
        let (open, openOther) = (open, other.open)
        return BLEStream<Output>(
            StreamSubject(operation: operation, object: "of 2 streams"),
            timeline: timeline,
            count: {
                var sum = count()
                sum.add(otherCount())
                return sum
            },
            open: { waker in
                let (first, second) = (open(waker), openOther(waker))
                return Cursor(
                    poll: makePoll(first, second),
                    unfinished: {
                        // Where that can only be one stream's.
                        let parts = [first.unfinished(), second.unfinished()].compactMap { $0 }
                        return parts.count == 1 ? parts[0] : nil
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
