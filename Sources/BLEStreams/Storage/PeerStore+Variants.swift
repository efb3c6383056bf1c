// Stores as tests need them.
extension PeerStore {
    /// The same, with another patience for programs that keep the files locked, and a closure that is called before
    /// each change with how long it may wait for them.
    convenience init(
        folder: String,
        patience: Duration,
        warning: @escaping Warning,
        onLock: @escaping @Sendable (Duration) -> Void
    ) {
        self.init(folder: PeerFolder(path: folder, patience: patience, onLock: onLock), warning: warning)
    }

    /// The same, with a closure that is called at each access to a file, on the thread that makes it.
    convenience init(folder: String, onAccess: @escaping @Sendable () -> Void) {
        self.init(folder: PeerFolder(path: folder, onAccess: onAccess), warning: PeerStore.printWarning)
    }

    /// The same, with another number of strangers whose services are kept.
    convenience init(folder: String, strangers: Int, onAccess: @escaping @Sendable () -> Void) {
        let folder = PeerFolder(path: folder, strangers: strangers, onAccess: onAccess)
        self.init(folder: folder, warning: PeerStore.printWarning)
    }
}
