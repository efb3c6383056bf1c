import BLEStreams
import Dispatch
import Glibc

extension Output {
    /// The elements of a stream, for as long as the reader of the results is there. Otherwise, only the next result
    /// would show that `head` has left, and it may never come.
    ///
    /// - Returns: a stream that throws ``OutputClosed`` once the reader of a pipe has left.
    func whileRead<Element>(_ stream: BLEStream<Element>) -> BLEStream<Element> {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFIFO else { return stream }
        return stream.take(until: Self.departure(from: descriptor))
    }

    /// No element, but an error once nobody reads the pipe.
    private static func departure(from descriptor: Int32) -> BLEStream<Void> {
        BLEStream { feed in
            // Without a descriptor, the next result shows it.
            guard let end = EndOfWait() else { return {} }
            // A queue of its own has a thread of its own. A source of Dispatch isn't told of the error, and runs on.
            DispatchQueue(label: "ble.reader").async {
                if DescriptorWait.forDeparture(from: descriptor, before: end.descriptor) {
                    feed.finish(throwing: OutputClosed())
                }
            }
            return { end.signal() }
        }
    }
}
