import Foundation
import Glibc

/// A small file that is replaced as a whole.
enum DurableFile {
    /// A file that can't be written, and why.
    struct WriteError: Error, CustomStringConvertible {
        var path: String
        var number: Int32

        var description: String { "\(path): \(String(cString: strerror(number))). \(remedy)" }

        private var remedy: String {
            switch number {
            case ENOSPC, EDQUOT: "Make room on that disk."
            case ENOENT, ENOTDIR: "Check that the folder exists."
            case EROFS: "Mount the disk for writing; a service with ProtectSystem= needs the folder in ReadWritePaths=."
            case EMFILE, ENFILE: "Raise the limit of open files (`LimitNOFILE=` of the service, `sysctl fs.file-max`)."
            default: "Check the disk, and that this program may write the file and its folder."
            }
        }
    }

    /// A file that can't be read, and why.
    struct ReadError: Error, CustomStringConvertible {
        var path: String
        var number: Int32

        var description: String {
            "\(path) can't be read: \(String(cString: strerror(number))). "
                + "Check the disk, and that the path is that of a file which this program may read."
        }
    }

    /// Reads a file, or its beginning.
    ///
    /// - Parameter limit: the most octets that are read.
    /// - Returns: the octets; `nil`: there is no such file. Every other reason is an error: whoever takes a file that
    ///   is there for a missing one begins anew, and forgets what it must not forget.
    static func read(_ path: String, limit: Int) throws(ReadError) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            let number = errno
            if number == ENOENT { return nil }
            throw ReadError(path: path, number: number)
        }
        defer { close(file) }
        var octets: [UInt8] = []
        var part = [UInt8](repeating: 0, count: min(limit, 4096))
        while octets.count < limit {
            let wanted = min(part.count, limit - octets.count)
            let count = part.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, wanted) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw ReadError(path: path, number: errno) }
            if count == 0 { break }
            octets += part.prefix(count)
        }
        return octets
    }

    /// Replaces a file so that either the old or the new content survives a power cut.
    static func write(_ octets: [UInt8], to path: String) throws(WriteError) {
        let new = path + ".new"
        let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw WriteError(path: new, number: errno) }
        var number = fill(file, octets)
        close(file)
        if number == 0, rename(new, path) != 0 { number = errno }
        guard number == 0 else {
            // A disk that is full isn't made fuller.
            unlink(new)
            throw WriteError(path: new, number: number)
        }
        // The new name is on the disk only when the folder is. A path without a folder part is in the current one.
        let parent = (path as NSString).deletingLastPathComponent
        let folder = open(parent.isEmpty ? "." : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw WriteError(path: path, number: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw WriteError(path: path, number: errno) }
    }

    /// Writes all octets, and synchronises them.
    ///
    /// - Returns: the number of the error; 0 if there is none.
    private static func fill(_ file: Int32, _ octets: [UInt8]) -> Int32 {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0 { return errno }
            // It takes no more, and says no reason.
            if count == 0 { return ENOSPC }
            rest = rest.dropFirst(count)
        }
        return fsync(file) == 0 ? 0 : errno
    }
}
