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
        let isWritten = Glibc.write(file, octets, octets.count) == octets.count && fsync(file) == 0
        let number = errno
        close(file)
        guard isWritten else { throw WriteError(path: new, number: number) }
        guard rename(new, path) == 0 else { throw WriteError(path: new, number: errno) }
        // The new name is on the disk only when the folder is.
        let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw WriteError(path: path, number: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw WriteError(path: path, number: errno) }
    }
}
