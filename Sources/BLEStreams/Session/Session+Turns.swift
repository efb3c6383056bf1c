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
        let (board, turns, over) = (board, turns, over)
        let giveBack: @Sendable (@Sendable () -> Void) -> Void = { $0() }
        return try await reply(on: core.timeline, limit: patience.rest(Self.isInUse), unwanted: giveBack) {
            (finish: @escaping @Sendable (Result<@Sendable () -> Void, any Error>) -> Void) in
            let (turn, wait) = (Ending<Void>(), Ending<Void>())
            turn.undo(
                turns.enter {
                    wait.end()
                    finish(.success { turn.end() })
                }
            )
            if wait.hasEnded { return { turn.end() } }
            wait.undo(
                board.wait { state in
                    switch state {
                    case .failed(let error)?: finish(.failure(error))
                    case nil: finish(.failure(over))
                    default: return false
                    }
                    // One that has come at this moment is of no use either.
                    turn.end()
                    return true
                }
            )
            return {
                turn.end()
                wait.end()
            }
        }
    }
}
