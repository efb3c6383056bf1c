internal import Synchronization

/// What the kernel was told, on a thread of its own, and has not done in time, by name: it isn't told that again before
/// it has, so that no threads gather where a driver is stuck.
enum StuckCalls {
    private static let names = Mutex<Set<String>>([])

    static func insert(_ name: String) { names.withLock { _ = $0.insert(name) } }

    static func remove(_ name: String) { names.withLock { _ = $0.remove(name) } }

    static func contains(_ name: String) -> Bool { names.withLock { $0.contains(name) } }
}
