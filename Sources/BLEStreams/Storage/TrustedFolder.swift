import CLibrary
import FoundationEssentials

/// A folder that no other user may change, held open: files are opened relative to it, so replacing the folder
/// meanwhile has no effect.
struct TrustedFolder: ~Copyable {
    let descriptor: Int32
    let path: String

    deinit { close(descriptor) }

    /// Opens a folder; `nil` if there is none.
    ///
    /// Its content decides which keys are loaded.
    ///
    /// - Throws: if another user owns it, may write into it, or has put a link on the path to it.
    static func open(_ path: String) throws(BLEError) -> TrustedFolder? {
        try refuseLinksOfOthers(path)
        let descriptor = CLibrary.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ENOTDIR:
                let remedy = "Move that file away, or choose another folder."
                throw .store("open", path, cause: "it is not a folder", remedy: remedy)
            default: throw .store("open", path, errno: errno)
            }
        }
        let folder = TrustedFolder(descriptor: descriptor, path: path)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .store("open", path, errno: errno) }
        guard status.st_uid == geteuid() else {
            throw .store(
                "open",
                path,
                cause: "it belongs to user \(status.st_uid), and this program runs as user \(geteuid())",
                remedy: "Run `chown -R \(geteuid()) '\(path)'`, or choose a folder of this user."
            )
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw .store(
                "open",
                path,
                cause: "other users may write to it",
                remedy: "Run `chmod 700 '\(path)'` after checking that the files in it are yours."
            )
        }
        return folder
    }

    /// Opens a folder; if there is none, makes it and those above it.
    static func make(_ path: String) throws(BLEError) -> TrustedFolder {
        if let folder = try open(path) { return folder }
        for prefix in prefixes(of: path) {
            // With that mode from the start, as the XDG Base Directory Specification requires.
            if mkdir(prefix, 0o700) == 0 {
                try sync(parentOf: prefix)
            } else if errno != EEXIST {
                // Above it there may be folders that this user may not write into, and paths that are not folders.
                var status = stat()
                let number = errno
                guard prefix != path, stat(prefix, &status) == 0 else { throw .noFolder(path, errno: number) }
            }
        }
        guard let folder = try open(path) else { throw .noFolder(path, errno: ENOENT) }
        return folder
    }

    /// All paths that lead to a path, and the path itself.
    private static func prefixes(of path: String) -> [String] {
        let ends = path.indices.filter {
            $0 > path.startIndex && path[$0] == "/" && path[path.index(before: $0)] != "/"
        }
        return ends.map { String(path[..<$0]) } + (path.hasSuffix("/") ? [] : [path])
    }

    /// A link of this user or of root is deliberate; another user's link leads wherever that user likes.
    private static func refuseLinksOfOthers(_ path: String) throws(BLEError) {
        for prefix in prefixes(of: path) {
            var status = stat()
            guard lstat(prefix, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { continue }
            guard status.st_uid != 0, status.st_uid != geteuid() else { continue }
            throw .store(
                "open",
                prefix,
                cause: "it is a symbolic link of user \(status.st_uid)",
                remedy: "Remove that link, or choose another folder."
            )
        }
    }

    /// Without a sync to disk, neither a folder nor its files would survive a power failure.
    private static func sync(parentOf path: String) throws(BLEError) {
        let parent = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = CLibrary.open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // A user who may write into a folder may not always read it.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        try sync(descriptor, parent)
    }

    private static func sync(_ descriptor: Int32, _ path: String) throws(BLEError) {
        // Some file systems have nothing to sync to a disk.
        guard fsync(descriptor) == 0 || [EINVAL, ENOTSUP, EROFS].contains(errno) else {
            throw .store(unsynced, path, errno: errno)
        }
    }

    /// The operation of the error of a folder that could not be synced: what was changed in it is in place, and may
    /// not be on disk.
    static let unsynced = "sync"
}

// MARK: - Files

extension TrustedFolder {
    /// The names of its files.
    func names() throws(BLEError) -> [String] {
        // A new descriptor has its own position in the folder.
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let listing = fdopendir(copy) else {
            let number = errno
            if copy >= 0 { close(copy) }
            throw .store("list", path, errno: number)
        }
        defer { closedir(listing) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(listing) else {
                if errno != 0 { throw .store("list", path, errno: errno) }
                return names
            }
            names.append(Self.name(of: entry))
        }
    }

    static func name(of entry: UnsafeMutablePointer<dirent>) -> String {
        withUnsafePointer(to: &entry.pointee.d_name) { name in
            name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
    }

    /// The content of a file, and whether another user could have read it until now; `nil` if there is no file.
    ///
    /// A symbolic link is refused: it could lead to another user's file.
    ///
    /// - Throws: also if another user owns it, or may write it.
    func contents(of name: String) throws(BLEError) -> (octets: Data, wasReadable: Bool)? {
        let full = "\(path)/\(name)"
        // Opening something other than a file, such as a pipe, must not block.
        let file = openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw .store("read", full, errno: errno)
        }
        defer { close(file) }
        let wasReadable = try isReadableByOthers(file, full)
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = CLibrary.read(file, &buffer, buffer.count)
            if count > 0 {
                data.append(contentsOf: buffer[..<count])
            } else if count == 0 {
                return (data, wasReadable)
            } else if errno != EINTR {
                throw .store("read", full, errno: errno)
            }
        }
    }

    /// Refuses anything but a file of this user alone.
    static func refuseForeign(_ status: stat, _ full: String) throws(BLEError) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .store("read", full, cause: "it is not a regular file", remedy: "Move it away.")
        }
        guard status.st_uid == geteuid() else {
            throw .store(
                "read",
                full,
                cause: "it belongs to user \(status.st_uid), and this program runs as user \(geteuid())",
                remedy: "Run `chown \(geteuid()) '\(full)'` after checking its content, or remove it."
            )
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw .store(
                "read",
                full,
                cause: "other users may write to it",
                remedy: "Run `chmod 600 '\(full)'` after checking its content, or remove it."
            )
        }
    }

    /// Returns whether others could read a file; afterwards they can't.
    private func isReadableByOthers(_ file: Int32, _ full: String) throws(BLEError) -> Bool {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw .store("read", full, errno: errno) }
        try Self.refuseForeign(status, full)
        guard status.st_mode & (S_IRGRP | S_IROTH) != 0 else { return false }
        guard fchmod(file, 0o600) == 0 else { throw .store("protect", full, errno: errno) }
        return true
    }

    /// Removes a file, if it exists.
    func remove(_ name: String) throws(BLEError) {
        guard unlinkat(descriptor, name, 0) == 0 else {
            guard errno == ENOENT else { throw .store("remove", "\(path)/\(name)", errno: errno) }
            return
        }
        try Self.sync(descriptor, path)
    }

    /// The name of a file while it is being written. There is only one: what a killed program left is removed with the
    /// next change of any file.
    static let unfinished = ".new"

    /// Replaces a file once the new one is on disk. It is never readable by others.
    func replace(_ name: String, with data: Data) throws(BLEError) {
        let file = openat(descriptor, Self.unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .store("write", "\(path)/\(name)", errno: errno) }
        var failure = Self.write(data, to: file)
        if failure == 0, fsync(file) != 0 { failure = errno }
        // Some file systems report only now that there is no room.
        if close(file) != 0, failure == 0 { failure = errno }
        if failure == 0, renameat(descriptor, Self.unfinished, descriptor, name) != 0 { failure = errno }
        guard failure == 0 else {
            unlinkat(descriptor, Self.unfinished, 0)
            throw .store("write", "\(path)/\(name)", errno: failure)
        }
        // A name that is only in memory would not survive a power failure.
        try Self.sync(descriptor, path)
    }

    /// Writes all octets; returns 0, or the errno of the failure.
    static func write(_ data: Data, to file: Int32) -> Int32 {
        data.withUnsafeBytes { octets in
            var position = 0
            while position < octets.count {
                let rest = octets.baseAddress.map { $0 + position }
                let count = CLibrary.write(file, rest, octets.count - position)
                if count > 0 {
                    position += count
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }

    /// Moves a file out of the way, to a free name, which it returns. The folder must be locked.
    func setAside(_ name: String) throws(BLEError) -> String {
        var number = 1
        while try !move(name, to: "\(name).\(number)") { number += 1 }
        // After a power failure it may have its former name, and is moved again.
        try? Self.sync(descriptor, path)
        return "\(path)/\(name).\(number)"
    }

    /// Gives a file another name; returns `false` if another file has that.
    private func move(_ name: String, to other: String) throws(BLEError) -> Bool {
        // Linking never replaces another file; renaming would.
        let number = linkat(descriptor, name, descriptor, other, 0) == 0 ? 0 : errno
        switch number {
        case 0: break
        // A program that was killed between the two steps has already made the name.
        case EEXIST: guard isSame(name, other) else { return false }
        // Without links, as on FAT, a name that is taken would have been the first obstacle.
        case EPERM, EOPNOTSUPP, ENOSYS:
            if renameat(descriptor, name, descriptor, other) == 0 { return true }
            throw .store("set aside", "\(path)/\(name)", errno: errno)
        default: throw .store("set aside", "\(path)/\(name)", errno: number)
        }
        if unlinkat(descriptor, name, 0) == 0 || errno == ENOENT { return true }
        throw .store("remove", "\(path)/\(name)", errno: errno)
    }

    private func isSame(_ name: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard fstatat(descriptor, name, &first, AT_SYMLINK_NOFOLLOW) == 0,
            fstatat(descriptor, other, &second, AT_SYMLINK_NOFOLLOW) == 0
        else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }
}

extension BLEError {
    static func store(_ operation: String, _ object: String, cause: String, remedy: String = "") -> BLEError {
        BLEError(.systemFailure, operation: operation, object: object, cause: cause, remedy: remedy)
    }

    static func store(_ operation: String, _ object: String, errno number: Int32) -> BLEError {
        let remedy =
            switch number {
            case ELOOP:
                "Remove that symbolic link: the store doesn't follow links, which could lead to another user's file."
            case ENOENT, ENOTDIR: "Check that the path is correct."
            case EROFS: remedyOfReadOnly
            case EMFILE, ENFILE: "Close files that the program doesn't need, or raise its limit (LimitNOFILE=)."
            // From `flock`: on NFS the server's lock service is asked.
            case ENOLCK, ENOSYS, EOPNOTSUPP:
                "Choose a folder on a disk of this machine; or make locks work there: on NFS, start rpc.statd, or mount "
                    + "it with local_lock=flock if only this machine uses it."
            default: "Check that this user may read and write there, and that the disk has room."
            }
        let cause = number == ELOOP ? "it is a symbolic link" : String(cString: strerror(number))
        var error = store(operation, object, cause: cause, remedy: remedy)
        error.systemError = number
        return error
    }

    /// In a service it is the unit that makes the file system so.
    private static let remedyOfReadOnly =
        "Choose a folder on a file system that can be written; a service needs StateDirectory= in its unit, which makes "
        + "one and names it to the program, or the folder in ReadWritePaths=."

    static func noFolder(_ path: String, errno number: Int32) -> BLEError {
        var error = store(
            "make",
            path,
            cause: "the folder could not be made: \(String(cString: strerror(number)))",
            remedy: number == EROFS
                ? remedyOfReadOnly
                : "Check that this user may write above it, and that the disk has room, or choose another folder."
        )
        error.systemError = number
        return error
    }
}
