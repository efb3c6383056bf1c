import CLibrary

/// Checks whether files can be read and written, without doing either.
extension TrustedFolder {
    /// Checks that a folder that doesn't exist could be made.
    ///
    /// - Throws: if this user may not write into the nearest existing folder above it.
    static func examineParent(of path: String) throws(BLEError) {
        var parent = path
        while let end = parent.lastIndex(of: "/"), end > parent.startIndex {
            parent = String(parent[..<end])
            if access(parent, F_OK) == 0 { break }
        }
        // With the effective user: that of a program that changes its user differs from its caller's.
        guard faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) != 0 else { return }
        throw .store("make", path, errno: errno)
    }

    /// Checks that names in it can be made and removed.
    func examineAccess() throws(BLEError) {
        guard faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) != 0 else { return }
        throw .store("write", path, errno: errno)
    }

    /// Checks that a file in it may be read: a file of this user that no other user may write.
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
