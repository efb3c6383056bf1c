import Glibc

/// The lock of a folder, held until it is released.
final class FolderLock: Sendable {
    private let file: File

    /// Locks the folder.
    ///
    /// - Throws: ``SpoolError/Code/inUse`` if it is locked.
    init(_ folder: String) throws(SpoolError) {
        file = try File("\(folder)/lock", O_RDWR | O_CREAT)
        guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw SpoolError(
                code: .inUse,
                operation: "open",
                object: folder,
                cause: "another program has the spool open",
                remedy: "End that program, or use another folder."
            )
        }
    }

    deinit { release() }

    /// Unlocks the folder. Closing the file would not be enough: a program that is being started has a copy of the
    /// descriptor for a moment, and the lock with it.
    func release() { flock(file.descriptor, LOCK_UN) }
}
