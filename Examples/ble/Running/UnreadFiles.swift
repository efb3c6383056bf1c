import BLEStreams
import Synchronization

/// What kept files of the store from being read.
///
/// The store warns of it, and goes on as if they had nothing. Whoever asks for the bonds has to know the difference.
final class UnreadFiles: Sendable {
    private let problem = Mutex<BLEError?>(nil)

    /// Takes a warning of the store.
    func note(_ warning: BLEError) {
        // Of a file that was read all the same, or was set aside, the store says what it found when it examined it.
        let isUnread = ["open", "list", "read", "protect", "set aside"].contains(warning.operation)
        guard isUnread, warning.code == .systemFailure else { return }
        problem.withLock { $0 = $0 ?? warning }
    }

    /// Throws if there was such a file.
    func check(for operation: String, _ object: String = "") throws(BLEError) {
        guard let problem = problem.withLock({ $0 }) else { return }
        var error = BLEError(
            .systemFailure,
            operation: operation,
            object: object,
            cause: "not all bonds could be read: \(problem.object): \(problem.cause)",
            remedy: problem.remedy
        )
        error.systemError = problem.systemError
        throw error
    }
}
