import BLEStreams

/// The file that a parameter names behind `@`; with `@-`, the standard input.
enum NamedFile: Sendable {
    case path(String)
    case standardInput

    /// Reads the parameter, and nothing of the file.
    ///
    /// - Returns: `nil` if the text has no `@` in front, and so names no file.
    init?(_ text: String) throws(UsageError) {
        guard text.hasPrefix("@") else { return nil }
        guard text != "@" else { throw UsageError("@FILE: the name of the file is missing after @") }
        guard text == "@-" else {
            self = .path(String(text.dropFirst()))
            return
        }
        try StandardInput.claim(for: text)
        self = .standardInput
    }

    /// Reads it whole; it must not be longer than ``largestFile``.
    func read() throws -> [UInt8] {
        switch self {
        case .path(let path): try readFile(path)
        case .standardInput: try checkedWhole(try StandardInput.read(atMost: largestFile + 1), "standard input")
        }
    }

    /// Reads this many octets, or all if there are fewer. A pipe is waited for until a signal interrupts the command.
    func read(atMost limit: Int) throws -> [UInt8] {
        switch self {
        case .path(let path): try readBeginning(path, limit)
        case .standardInput: try StandardInput.read(atMost: limit)
        }
    }
}

extension UsageError {
    /// The file of an option could not be read.
    static func unreadable(_ option: String, _ error: any Error) -> UsageError {
        UsageError(
            "\(option): that file can't be read: \((error as? BLEError)?.cause ?? "\(error)")",
            isInterruption: error is CancellationError
        )
    }
}
