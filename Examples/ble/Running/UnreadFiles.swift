import BLESimulator
import BLEStreams
import Synchronization

/// What keeps files of the store from being read.
///
/// The store warns of it, and goes on as if they had nothing. Whoever asks for the bonds has to know the difference.
final class UnreadFiles: Sendable {
    /// Makes another store of the same files; `nil`: there are none.
    typealias Reopening = @Sendable (@escaping PeerStore.Warning) -> PeerStore?

    private let reopen: Reopening
    private let warning: PeerStore.Warning
    private let problem = Mutex<BLEError?>(nil)

    /// Makes one that knows of no file.
    ///
    /// - Parameters:
    ///   - warning: is told what another store finds besides files that can't be read: that one was damaged.
    ///   - reopen: makes another store of the same files.
    init(warning: @escaping PeerStore.Warning = { _ in }, reopen: @escaping Reopening = { _ in nil }) {
        (self.warning, self.reopen) = (warning, reopen)
    }

    /// Takes a warning of the store.
    ///
    /// - Returns: whether it is about a file that could not be read.
    @discardableResult func note(_ warning: BLEError) -> Bool {
        // Of a file that was read all the same, or was set aside, the store says what it found when it examined it.
        let isUnread = ["open", "list", "read", "protect", "set aside"].contains(warning.operation)
        guard isUnread, warning.code == .systemFailure else { return false }
        problem.withLock { $0 = $0 ?? warning }
        return true
    }

    /// Throws if there still is such a file.
    func check(for operation: String, _ object: String = "") async throws {
        guard let problem = try await problemNow() else { return }
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

    /// What keeps a file from being read now.
    private func problemNow() async throws -> BLEError? {
        guard problem.withLock({ $0 }) != nil else { return nil }
        // A store says each thing once, and not that it is over: one that has said nothing yet reads all files again.
        let found = UnreadFiles()
        let other = reopen { [warning] finding in
            if !found.note(finding) { warning(finding) }
        }
        guard let store = other else { return nil }
        // Bonds are asked for by a central. This one has nobody on its air.
        try await Central.with(.radio(SimulatedAir().adapter()), store: store) { _ = $0.bonds }
        return found.problem.withLock { $0 }
    }
}
