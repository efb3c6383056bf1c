import BLEStreams
import Synchronization

/// What keeps peripherals from being ready until a person does something. A person is told of each once, though the
/// gateway tries again and again.
final class Troubles: Sendable {
    /// A peripheral's trouble.
    struct Trouble: Hashable, Sendable {
        /// The kind of the error, `securityFailed`.
        var code: String
        /// The error with its remedy, in words.
        var text: String
    }

    private let report: @Sendable (String) -> Void
    private let troubles = Mutex<[String: Trouble]>([:])

    /// - Parameter report: is told of a trouble, and told again if it has another reason, or was over meanwhile.
    init(_ report: @escaping @Sendable (String) -> Void) { self.report = report }

    /// All of them, by the name of the peripheral.
    var all: [(name: String, trouble: Trouble)] {
        troubles.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// An attempt has failed.
    ///
    /// - Parameter name: the name of the peripheral: its label, or the label and the address of one of several.
    func tell(_ error: any Error, of name: String) {
        var error = error
        if var known = error as? BLEError {
            // That is another time on each attempt.
            known.elapsed = nil
            error = known
        }
        let code = (error as? BLEError).map { "\($0.code)" } ?? "failed"
        let trouble = Trouble(code: code, text: gatewayWords(for: error))
        let isNew = troubles.withLock { troubles in
            defer { troubles[name] = trouble }
            return troubles[name] != trouble
        }
        if isNew { report("\(name): \(trouble.text)") }
    }

    /// A session has changed its state.
    ///
    /// - Returns: the error, if a person should do something about it.
    func follow(_ change: Session.Transition, of name: String) -> BLEError? {
        if change.state.isReady {
            end(of: name)
            return nil
        }
        guard let error = change.state.failure ?? change.cause?.error else { return nil }
        guard Self.isLasting(error, in: change.state) else { return nil }
        tell(error, of: name)
        return error
    }

    /// The peripheral is ready, or isn't followed any more.
    func end(of name: String) { _ = troubles.withLock { $0.removeValue(forKey: name) } }

    /// Whether it will be there at the next attempt, too, most likely.
    private static func isLasting(_ error: BLEError, in state: SessionState) -> Bool {
        switch state {
        case .failed: true
        case .disconnected(.waitingToReconnect(let failures, _)):
            // A single refusal may be about attributes that are remembered and outdated.
            error.isOfSecurity || failures >= 3 && !error.isPassing
        default: false
        }
    }
}
