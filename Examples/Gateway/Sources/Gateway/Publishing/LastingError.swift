import Synchronization

/// An error that occurs again and again until somebody removes its cause: a person is told of it once.
final class LastingError: Sendable {
    private let report: @Sendable (String) -> Void
    private let last = Mutex<String?>(nil)

    /// - Parameter report: is told of the error, and told again if it has another reason, or was gone meanwhile.
    init(_ report: @escaping @Sendable (String) -> Void) { self.report = report }

    /// Does what may fail.
    func watch(_ action: () throws -> Void) {
        do {
            try action()
            end()
        } catch {
            tell("\(error)")
        }
    }

    /// It has occurred, and this is the line for a person.
    func tell(_ line: String) {
        let isNew = last.withLock { last in
            defer { last = line }
            return last != line
        }
        if isNew { report(line) }
    }

    /// It is gone.
    func end() { last.withLock { $0 = nil } }
}
