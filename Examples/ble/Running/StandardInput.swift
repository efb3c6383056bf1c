import BLEStreams
import Glibc
import Synchronization

/// The standard input, which can be read once.
enum StandardInput {
    private static let reader = Mutex<String?>(nil)

    /// Refuses a second reader.
    ///
    /// - Parameter reader: the argument that asks to read it.
    static func claim(for reader: String) throws(UsageError) {
        let former = Self.reader.withLock { held in
            defer { held = held ?? reader }
            return held
        }
        guard let former else { return }
        throw UsageError("\(reader): standard input is already read for \(former), and can be read once: name a file")
    }

    /// Reads this many octets, or all if there are fewer.
    static func read(atMost limit: Int) throws -> [UInt8] {
        try readOctets(from: STDIN_FILENO, limit) { BLEError.input($0) }
    }
}
