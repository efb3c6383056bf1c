/// One open iteration of a stream: asked for the next element, it answers at once.
///
/// Operators are functions from cursors to cursors. None of them waits: waiting is done in one place, by the
/// ``Iteration`` at the end of the chain. So a chained operator costs a function call and no hop between executors,
/// timers reach a waiting consumer without a task of their own, and several upstreams can be watched at once.
///
/// A cursor is used by one consumer at a time; only `close` may be called from anywhere.
struct Cursor<Element: Sendable> {
    /// The next element if there is one by now. Not called again after `.end` or an error.
    let poll: () throws -> Polled<Element>

    /// What was received and belongs to no element yet; it goes into the error of whoever gives up.
    var unfinished: () -> [UInt8]? = { nil }

    /// Ends the iteration and undoes what opening it did. Idempotent.
    let close: @Sendable () -> Void
}

/// What a cursor has by now.
enum Polled<Element> {
    case element(Element)
    /// Nothing yet; the waker will be called when it is worth asking again.
    case pending
    case end
}

extension BLEStream {
    /// A stream whose cursor is made from this one's.
    func lift<Output: Sendable>(
        _ make: @escaping @Sendable (Cursor<Element>, Waker) -> Cursor<Output>
    ) -> BLEStream<Output> {
        let open = open
        return BLEStream<Output>(subject, timeline: timeline) { waker in make(open(waker), waker) }
    }
}
