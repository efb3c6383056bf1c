/// One open iteration of a stream: asked for the next element, it answers at once.
///
/// Operators are functions from cursors to cursors. None of them waits: waiting is done in one place, by the
/// ``Iteration`` at the end of the chain. So a chained operator costs a function call and no hop between executors,
/// timers reach a waiting consumer without a task of their own, and several upstreams can be watched at once.
///
/// A cursor belongs to one consumer, who calls one of its functions at a time. An operator that answers `.pending`
/// must have had `.pending` from every upstream that it still listens to: only news rings the waker again. The one
/// exception: a loop that may never come to an answer says `.pending` when the task is cancelled. It throws no
/// `CancellationError` of its own, which would be taken for the upstream's: that the task is leaving is for the end of
/// the chain to see.
///
/// Hot paths are `@inlinable` down to the source. Unspecialised, each generic step looks up type metadata: measured,
/// 240 ns for an element that nothing is done to, and 60 ns more for each operator.
@usableFromInline
struct Cursor<Element: Sendable> {
    /// The next element if there is one by now. Not called again after `.end` or an error.
    @usableFromInline let poll: () throws -> Polled<Element>

    /// Octets received that belong to no element yet; they become part of the error when a wait is given up.
    @usableFromInline let unfinished: () -> [UInt8]?

    /// Receives no more: the source is closed, what it has brought is still handed out, then comes the end.
    @usableFromInline let stop: () -> Void

    /// Ends the iteration and undoes what opening it did. Idempotent; nothing is polled afterwards.
    @usableFromInline let close: () -> Void

    /// A cursor that is a source.
    @inlinable
    init(
        poll: @escaping () throws -> Polled<Element>,
        unfinished: @escaping () -> [UInt8]? = { nil },
        stop: @escaping () -> Void,
        close: @escaping () -> Void
    ) {
        self.poll = poll
        self.unfinished = unfinished
        self.stop = stop
        self.close = close
    }

    /// A cursor that can't stop without closing: what it has brought by then is dropped.
    @inlinable
    init(
        poll: @escaping () throws -> Polled<Element>,
        unfinished: @escaping () -> [UInt8]? = { nil },
        close: @escaping () -> Void
    ) {
        var isStopped = false
        self.init(
            poll: { isStopped ? .end : try poll() },
            unfinished: unfinished,
            stop: {
                isStopped = true
                close()
            },
            close: close
        )
    }

    /// A cursor that does everything but polling as the one that it draws from.
    @inlinable
    init(over upstream: Cursor<some Sendable>, poll: @escaping () throws -> Polled<Element>) {
        self.init(poll: poll, unfinished: upstream.unfinished, stop: upstream.stop, close: upstream.close)
    }
}

/// What a cursor has by now.
@usableFromInline
enum Polled<Element> {
    case element(Element)
    /// Values are missing here; only ``BLEStream/withGaps()`` shows it.
    indirect case gap(StreamGap)
    /// Nothing yet; the waker will be called when it is worth asking again.
    case pending
    case end

    /// The same answer about another kind of element.
    @inlinable
    func map<Output>(_ transform: (Element) throws -> Output) rethrows -> Polled<Output> {
        switch self {
        case .element(let element): .element(try transform(element))
        case .gap(let gap): .gap(gap)
        case .pending: .pending
        case .end: .end
        }
    }
}
