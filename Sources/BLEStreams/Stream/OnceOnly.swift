import Synchronization

/// A closure that runs at most once, whoever calls it.
final class OnceOnly: Sendable {
    private let action: Mutex<(@Sendable () -> Void)?>

    init(_ action: @escaping @Sendable () -> Void) { self.action = Mutex(action) }

    func run() {
        let action = action.withLock { $0.take() }
        action?()
    }
}
