import BLEStreams
import Glibc

/// How much is read of a file; no value is nearly this long.
let largestFile = 1 << 20

/// Reads a whole file, which may be a pipe.
func readFile(_ path: String) throws -> [UInt8] { try checkedWhole(try readBeginning(path, largestFile + 1), path) }

/// Refuses what is longer than ``largestFile``: without its rest it would be taken for something shorter.
///
/// - Parameter octets: one more than allowed, if there are so many.
func checkedWhole(_ octets: [UInt8], _ name: String) throws -> [UInt8] {
    guard octets.count > largestFile else { return octets }
    throw BLEError(
        .overflow,
        operation: "read",
        object: name,
        cause: "it has more than \(largestFile) octets",
        remedy: "Check that it is the right file; the value of a characteristic has at most 512 octets."
    )
}

/// Reads this many octets of a file, or all if there are fewer. A pipe is waited for until a signal interrupts the
/// command.
///
/// - Parameter isOrdinary: whether it must be a regular file, which can be read without waiting for anybody to fill it.
func readBeginning(_ path: String, _ limit: Int, isOrdinary: Bool = false) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw BLEError.file("read", path, errno) }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { throw BLEError.file("read", path, errno) }
    if isOrdinary, facts.st_mode & S_IFMT != S_IFREG {
        var error = BLEError.file("read", path, facts.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
        error.cause = "it is not a regular file"
        throw error
    }
    return try readOctets(from: descriptor, limit) { BLEError.file("read", path, $0) }
}

/// Reads this many octets from a descriptor, or all if there are fewer.
///
/// - Parameter failure: the error for an `errno`.
func readOctets(from descriptor: Int32, _ limit: Int, _ failure: (Int32) -> BLEError) throws -> [UInt8] {
    var octets: [UInt8] = []
    var part = [UInt8](repeating: 0, count: min(limit, 65_536))
    while octets.count < limit {
        guard DescriptorWait.forOctets(from: descriptor) else { throw CancellationError() }
        let count = read(descriptor, &part, min(part.count, limit - octets.count))
        if count < 0, errno == EINTR || errno == EAGAIN { continue }
        guard count >= 0 else { throw failure(errno) }
        guard count > 0 else { break }
        octets += part.prefix(count)
    }
    return octets
}

/// The file for a message, which is written as a whole or not at all.
///
/// Until then, the message is in a file of its own in the same folder. Anything but a regular file is written directly.
struct MessageFile {
    /// Where the message will be, as it was named.
    let path: String
    /// The regular file there, and where the message is until then.
    private let places: (file: String, unfinished: String)?

    /// Checks that the file can be written.
    init(_ path: String) throws {
        self.path = path
        var facts = stat()
        if stat(path, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG {
            guard facts.st_mode & S_IFMT != S_IFDIR else { throw BLEError.file("write", path, EISDIR) }
            places = nil
        } else {
            places = try Self.target(of: path).map { (file: $0, unfinished: "\($0).\(getpid()).unfinished") }
        }
        if let places { try Self.write([], to: places.unfinished, ofUser: path) }
    }

    /// The file that a path leads to: a link, as /dev/stdout is one, stays, and its file is replaced, or made.
    ///
    /// - Returns: `nil` for a link that leads to a file without a name, such as one that was removed.
    private static func target(of path: String) throws -> String? {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFLNK else { return path }
        if let whole = realpath(path, nil) {
            defer { free(whole) }
            return String(cString: whole)
        }
        let number = errno
        if stat(path, &facts) == 0 { return nil }
        // Links that lead in a circle have another number.
        guard number == ENOENT, let next = destination(ofLink: path) else {
            throw BLEError.file("write", path, number)
        }
        return try target(of: next)
    }

    /// Where a link leads, from where its path begins. The corresponding C function is `readlink`.
    private static func destination(ofLink path: String) -> String? {
        var octets = [UInt8](repeating: 0, count: 4096)
        let count = octets.withUnsafeMutableBytes { buffer in
            guard let start = buffer.bindMemory(to: CChar.self).baseAddress else { return -1 }
            return readlink(path, start, buffer.count)
        }
        guard count > 0 else { return nil }
        let name = String(decoding: octets.prefix(count), as: UTF8.self)
        guard !name.hasPrefix("/"), let end = path.lastIndex(of: "/") else { return name }
        return String(path[...end]) + name
    }

    /// Moves the whole message there. A pipe is waited for until somebody reads it, or a signal interrupts the command.
    ///
    /// - Throws: a `BLEError` if it can't be written; `CancellationError` if a signal comes before it has been.
    func commit(_ message: [UInt8]) throws {
        guard let (file, unfinished) = places else {
            return try Self.finish(try FileOpening.descriptor(for: path), with: message, ofUser: path)
        }
        try Self.replace(file, with: message, from: unfinished, ofUser: path)
    }

    /// Keeps a partial message beside the file; returns its path, or `nil` if there is nothing to keep, or if the file
    /// is a pipe or a device: nobody would look for a message beside one.
    func keepPartial(_ octets: [UInt8]) throws -> String? {
        guard let (file, unfinished) = places else { return nil }
        guard !octets.isEmpty else {
            unlink(unfinished)
            return nil
        }
        let kept = file + ".partial"
        try Self.replace(kept, with: octets, from: unfinished, ofUser: kept)
        return kept
    }

    /// Puts a file with these octets in place of a former one, which stays where they can't be written.
    private static func replace(
        _ file: String,
        with octets: [UInt8],
        from unfinished: String,
        ofUser name: String
    ) throws {
        do {
            try write(octets, to: unfinished, ofUser: name)
            guard rename(unfinished, file) == 0 else { throw BLEError.file("write", name, errno) }
        } catch {
            unlink(unfinished)
            throw error
        }
    }

    private static func write(_ octets: [UInt8], to path: String, ofUser name: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw BLEError.file("write", name, errno) }
        try finish(descriptor, with: octets, ofUser: name)
    }

    /// Writes the octets, and closes the descriptor.
    private static func finish(_ descriptor: Int32, with octets: [UInt8], ofUser name: String) throws {
        var failure = writeAll(octets, to: descriptor)
        if failure == 0, fsync(descriptor) != 0, errno != EINVAL, errno != EROFS { failure = errno }
        if close(descriptor) != 0, failure == 0 { failure = errno }
        // Its reader was waited for in vain after a signal.
        guard failure != ECANCELED else { throw CancellationError() }
        guard failure == 0 else { throw BLEError.file("write", name, failure) }
    }
}
