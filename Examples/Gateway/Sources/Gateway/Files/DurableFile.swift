import Foundation
import Glibc

/// A small file that is replaced as a whole.
enum DurableFile {
    /// A file that can't be written, and why.
    struct WriteError: Error, CustomStringConvertible {
        var path: String
        var number: Int32

        var description: String {
            "\(path): \(String(cString: strerror(number))). Check that this program may write it."
        }
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
