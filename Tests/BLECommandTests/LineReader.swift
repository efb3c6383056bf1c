import Foundation
import Synchronization

/// The lines that come out of one pipe, read by a thread of its own.
final class LineReader: Sendable {
    private let lines: AsyncStream<String>
    private let mustStop: Flag

    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    /// Reads from now on, and closes the descriptor at the end.
    ///
    /// - Parameter onLine: called with each line on the reading thread, however busy the tests' own threads are.
    init(_ descriptor: Int32, onLine: @escaping @Sendable (String) -> Void = { _ in }) {
        let (lines, feed) = AsyncStream<String>.makeStream()
        let mustStop = Flag()
        self.lines = lines
        self.mustStop = mustStop
        Thread.detachNewThread {
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while !mustStop.isSet.withLock({ $0 }) {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                rest += buffer.prefix(count)
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: rest[..<end], as: UTF8.self)
                    onLine(line)
                    feed.yield(line)
                    rest.removeFirst(end + 1)
                }
            }
            if !rest.isEmpty { feed.yield(String(decoding: rest, as: UTF8.self)) }
            feed.finish()
            close(descriptor)
        }
    }

    /// The next line; `nil` at the end.
    func next() async -> String? {
        for await line in lines { return line }
        return nil
    }

    /// All that still comes.
    func rest() async -> [String] {
        var all: [String] = []
        for await line in lines { all.append(line) }
        return all
    }

    /// Reads no more, once it has read something more.
    func stop() { mustStop.isSet.withLock { $0 = true } }
}
