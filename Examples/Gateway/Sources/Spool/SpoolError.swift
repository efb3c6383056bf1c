import Glibc

/// The error of a spool: the operation, its object, the cause, and the remedy.
public struct SpoolError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of an error.
    public enum Code: Hashable, Sendable {
        /// The file system has no room. The record was not stored, and is counted as dropped.
        case diskFull
        /// A system call failed.
        case systemFailure
        /// Another process, or another spool of this one, has the folder open.
        case inUse
        /// The record is larger than a segment. It was not stored, and is counted as dropped.
        case recordTooLarge
        /// The settings make no sense.
        case invalidSettings
        /// A newer version of the program has written the files; they are left as they are.
        case newerVersion
        /// The spool is closed.
        case closed
    }

    /// The kind of the error.
    public var code: Code
    /// What was being done: `append`.
    public var operation: String
    /// The file or folder, or the record.
    public var object: String
    /// Why it failed.
    public var cause: String
    /// What to do about it.
    public var remedy: String
    /// The number of the system call's error; 0: there was none.
    var number: Int32 = 0

    /// Whether what was to be read is gone, or can't be read any more: trying again would not bring it back.
    var isDamage: Bool { [ENOENT, ENOTDIR, ESTALE, EIO].contains(number) }

    public var description: String { "\(operation): \(object): \(cause). \(remedy)" }
}

extension SpoolError {
    /// The error of a file that a newer version has written.
    static func newerVersion(_ path: String) -> SpoolError {
        SpoolError(
            code: .newerVersion,
            operation: "open",
            object: path,
            cause: "a newer version of this program has written it",
            remedy: "Run that version until nothing is spooled, or move the folder away: its records are not sent then."
        )
    }

    /// The error of a system call.
    init(_ operation: String, _ object: String, errno number: Int32) {
        let isFull = number == ENOSPC || number == EDQUOT
        self.init(
            code: isFull ? .diskFull : .systemFailure,
            operation: operation,
            object: object,
            cause: String(cString: strerror(number)),
            remedy: isFull
                ? "Free some space; until then new records are dropped and counted."
                : "Check the disk, that the folder exists, and that this program may read and write it.",
            number: number
        )
    }
}
