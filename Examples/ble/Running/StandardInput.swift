import BLEStreams
import Glibc
import Synchronization

/// The standard input, which can be read once.
enum StandardInput {
    private static let reader = Mutex<String?>(nil)

    /// Takes it for one reader, and refuses every other one.
    ///
    /// - Parameter reader: what asks to read it, such as the argument `@-`.
    static func claim(for reader: String) throws(UsageError) {
        try check(for: reader)
        Self.reader.withLock { $0 = reader }
    }

    /// Refuses a reader if there is one already.
    static func check(for reader: String) throws(UsageError) {
        guard let former = Self.reader.withLock({ $0 }) else { return }
        throw UsageError("\(reader): standard input is already read for \(former), and can be read once: name a file")
    }

    /// Reads this many octets, or all if there are fewer.
    static func read(atMost limit: Int) throws -> [UInt8] {
        try readOctets(from: STDIN_FILENO, limit) { BLEError.input($0) }
    }
}
