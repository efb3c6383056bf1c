import CLibrary

/// Whether files can be read and written, without doing either.
extension TrustedFolder {
    /// Whether a folder that isn't there could be made.
    ///
    /// - Throws: where this user may not write into the nearest folder above it that is there.
    static func examineParent(of path: String) throws(BLEError) {
        var parent = path
        while let end = parent.lastIndex(of: "/"), end > parent.startIndex {
            parent = String(parent[..<end])
            if access(parent, F_OK) == 0 { break }
        }
        // With the rights in force: those of a program that changes its user differ from its caller's.
        guard faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) != 0 else { return }
        throw .store("make", path, errno: errno)
    }

    /// Whether names in it can be made and removed.
    func examineAccess() throws(BLEError) {
        guard faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) != 0 else { return }
        throw .store("write", path, errno: errno)
    }

    /// Whether a file in it is one that is read: a file of this user, which no other may write.
    func examineAccess(to name: String) throws(BLEError) {
        let full = "\(path)/\(name)"
        var status = stat()
        guard lstat(full, &status) == 0 else { throw .store("read", full, errno: errno) }
        guard status.st_mode & S_IFMT != S_IFLNK else { throw .store("read", full, errno: ELOOP) }
        try Self.refuseForeign(status, full)
        guard faccessat(AT_FDCWD, full, R_OK | W_OK, AT_EACCESS) != 0 else { return }
        throw .store("write", full, errno: errno)
    }
}
