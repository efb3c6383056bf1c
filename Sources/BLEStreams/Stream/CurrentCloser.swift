import Synchronization

/// Closes whatever is open at the moment; for streams that open several things, one after the other, from anywhere.
final class CurrentCloser: Sendable {
    private struct State {
        var current: (@Sendable () -> Void)?
        var isClosed = false
    }

    private let state = Mutex(State())
    private let finally: @Sendable () -> Void

    init(finally: @escaping @Sendable () -> Void = {}) { self.finally = finally }

    /// Names what is to be closed; closes it at once where the whole is closed already.
    func replace(_ close: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.current = close }
            return state.isClosed
        }
        if isClosed { close() }
    }

    /// Closes what is open, and all that will be named from now on.
    @Sendable func run() {
        let close = state.withLock { state in
            state.isClosed = true
            return state.current.take()
        }
        close?()
        finally()
    }
}
