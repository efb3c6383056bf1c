import Glibc

/// The system calls of a spool. Tests replace those that a full or failing disk makes fail.
struct Disk: Sendable {
    /// Writes at an offset. The corresponding C function is `pwrite`.
    var write: @Sendable (Int32, UnsafeRawBufferPointer, Int) -> Int = {
        pwrite($0, $1.baseAddress, $1.count, off_t($2))
    }
    /// Synchronises the content. The corresponding C function is `fdatasync`.
    var synchronise: @Sendable (Int32) -> Int32 = { fdatasync($0) }
    /// Reads the next entry of a folder; `nil` at the end, and after an error. The corresponding C function is
    /// `readdir`.
    var nextEntry: @Sendable (OpaquePointer) -> UnsafeMutablePointer<dirent>? = { readdir($0) }

    /// Writes all octets at an offset.
    func writeAll(_ octets: [UInt8], to file: Int32, at offset: Int, _ name: String) throws(SpoolError) {
        var done = 0
        while done < octets.count {
            let count = octets[done...].withUnsafeBytes { write(file, $0, offset + done) }
            if count > 0 {
                done += count
            } else if count == 0 || errno != EINTR {
                throw SpoolError("write", name, errno: count == 0 ? ENOSPC : errno)
            }
        }
    }

    /// Synchronises a file.
    func synchronise(_ file: Int32, _ name: String) throws(SpoolError) {
        guard synchronise(file) == 0 else { throw SpoolError("fdatasync", name, errno: errno) }
    }

    /// Synchronises a folder, so that new names survive a loss of power.
    func synchroniseFolder(_ path: String) throws(SpoolError) {
        let folder = try File(path, O_RDONLY | O_DIRECTORY)
        try synchronise(folder.descriptor, path)
    }
}

/// An open file, closed when it is released.
final class File: Sendable {
    let descriptor: Int32
    let path: String

    init(_ path: String, _ flags: Int32) throws(SpoolError) {
        let descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SpoolError("open", path, errno: errno) }
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// Reads at most this many octets at an offset; fewer at the end of the file.
    func read(_ count: Int, at offset: Int) throws(SpoolError) -> [UInt8] {
        var failure: Int32 = 0
        let octets = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let room = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                let got = pread(descriptor, room.baseAddress, room.count, off_t(offset + filled))
                if got > 0 {
                    filled += got
                } else if got == 0 {
                    return
                } else if errno != EINTR {
                    failure = errno
                    return
                }
            }
        }
        guard failure == 0 else { throw SpoolError("read", path, errno: failure) }
        return octets
    }

    /// The size in octets.
    func size() throws(SpoolError) -> Int {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw SpoolError("stat", path, errno: errno) }
        return Int(facts.st_size)
    }
}
