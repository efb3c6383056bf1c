import BLEProtocol
import BLERadio

// Turns among the operations and commands of a session.
extension Session {
    /// Waits for a turn, unless the session fails or ends before it comes: the closure of an operation may keep its
    /// turn for long, whatever becomes of the session.
    ///
    /// - Returns: the closure that ends the turn.
    /// - Throws: the error of the failed session; ``BLEError/Code/ended``; that of the patience; `CancellationError`.
    func turn(within patience: SessionPatience) async throws -> @Sendable () -> Void {
        let (board, over) = (board, over)
        return try await turns.enter(on: core.timeline, limit: patience.rest({ CommandDelay.inUse.wait })) { report in
            board.wait { state in
                switch state {
                case .failed(let error)?: report(error)
                case nil: report(over)
                default: return false
                }
                return true
            }
        }
    }
}
