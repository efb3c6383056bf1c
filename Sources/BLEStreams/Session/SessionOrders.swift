import Synchronization

/// The program's orders to the driver of a session, besides those implied by its state.
final class SessionOrders: Sendable {
    enum Order: Sendable {
        /// Disconnect and end.
        case stop
        /// Disconnect, stay, and call each of these.
        case disconnect([@Sendable () -> Void])
    }

    private struct State {
        /// Wakes the driver; `nil` if the session is not running.
        var wake: (@Sendable () -> Void)?
        var isStopped = false
        var disconnects: [@Sendable () -> Void] = []
        var whenOrdered: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Whether the session is being run.
    var isDriven: Bool { state.withLock { $0.wake != nil } }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Whether the program waits for the end of the link.
    var isDisconnecting: Bool { state.withLock { !$0.disconnects.isEmpty } }

    /// Registers the driver; `false` if there is one already.
    func beginDriving(_ wake: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.wake == nil else { return false }
            state.wake = wake
            return true
        }
    }

    /// The driver has ended.
    ///
    /// - Returns: whether the session was stopped before that, and so left its end to the driver.
    @discardableResult
    func endDriving() -> Bool {
        let (disconnects, isStopped) = state.withLock { state in
            state.wake = nil
            defer { state.disconnects = [] }
            return (state.disconnects, state.isStopped)
        }
        for done in disconnects { done() }
        return isStopped
    }

    /// Wakes the driver, to look for work.
    func wake() {
        let wake = state.withLock { $0.wake }
        wake?()
    }

    /// Orders the end of the session.
    ///
    /// - Returns: whether there is a driver, which carries that out.
    func stop() -> Bool {
        let (isDriven, action) = state.withLock { state in
            state.isStopped = true
            return (state.wake != nil, state.whenOrdered.take())
        }
        action?()
        return isDriven
    }

    /// Orders the end of the link.
    ///
    /// - Parameter done: called when that is done.
    /// - Returns: whether there is a driver; otherwise `done` is not called.
    func disconnect(_ done: @escaping @Sendable () -> Void) -> Bool {
        let (isDriven, action) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard state.wake != nil else { return (false, nil) }
            state.disconnects.append(done)
            return (true, state.whenOrdered.take())
        }
        action?()
        return isDriven
    }

    /// Calls the closure once there is an order; immediately if there is one.
    func whenOrdered(_ action: @escaping @Sendable () -> Void) {
        let isOrdered = state.withLock { state in
            let isOrdered = state.isStopped || !state.disconnects.isEmpty
            if !isOrdered { state.whenOrdered = action }
            return isOrdered
        }
        if isOrdered { action() }
    }

    /// The next order; `nil` if there is none.
    func take() -> Order? {
        state.withLock { state in
            if state.isStopped { return .stop }
            guard !state.disconnects.isEmpty else { return nil }
            defer { state.disconnects = [] }
            return .disconnect(state.disconnects)
        }
    }
}
