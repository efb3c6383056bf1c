import CLibrary

/// Distinguishes the versions of a file: one that is replaced or changed has another stamp.
struct FileStamp: Hashable, Sendable {
    private let device: UInt
    private let inode: UInt
    private let size: Int
    /// When its content was written, in nanoseconds since 1970.
    let written: Int
    /// When anything of it changed, which no program can set.
    private let changed: Int

    fileprivate init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        size = Int(status.st_size)
        written = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
    }

    /// Wraps around in the year 2262.
    private static func nanoseconds(_ time: timespec) -> Int { time.tv_sec &* 1_000_000_000 &+ time.tv_nsec }
}

extension TrustedFolder {
    /// The stamp of a file; `nil` if there is none. A link's is its own.
    func stamp(of name: String) -> FileStamp? {
        var status = stat()
        return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? FileStamp(status) : nil
    }
}
