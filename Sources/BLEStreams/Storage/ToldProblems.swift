import BLEProtocol

/// The problems with files that a program was told of, since the last successful write; those with one peer's file,
/// since that was written: a lasting problem is told once, not at each link.
struct ToldProblems: Sendable {
    private struct Problem: Hashable {
        /// Empty: with files of which there are too many to remember each.
        let object: String
        let text: String
    }

    /// How many are remembered by their files. Those with further files count together if they have the same cause: a
    /// copied folder may have a thousand files of another user.
    static let most = 256

    private var told: Set<Problem> = []

    /// Whether the program is to be told of a problem; from then on, it counts as told.
    mutating func isNews(_ failure: BLEError) -> Bool {
        if told.count >= 2 * Self.most { told = [] }
        let own = Problem(object: failure.object, text: "\(failure)")
        if told.contains(own) { return false }
        if told.count < Self.most { return told.insert(own).inserted }
        // A notice: what has become of this file is told now or never.
        if failure.operation == "examine" { return true }
        return told.insert(Problem(object: "", text: "\(failure.operation): \(failure.cause)")).inserted
    }

    /// A file was written, or could stay as it is.
    ///
    /// - Parameter isAnother: whether an object is a file of which that says nothing.
    mutating func wrote(unlessOf isAnother: (String) -> Bool) {
        let rest = told.filter { isAnother($0.object) }
        // Some of those have no place here, and were told together.
        let together = rest.count < Self.most ? [] : told.filter(\.object.isEmpty)
        told = rest.union(together)
    }
}
