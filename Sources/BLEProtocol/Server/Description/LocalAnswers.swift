/// That a program answers with closures of its own: computes a characteristic's value, or judges what is written to it.
///
/// Closures can't be compared; what they are for is. A service that is described again, with closures that were made
/// anew, is the same service.
package struct LocalAnswers: Sendable {
    /// Whether a closure computes the value.
    package let computesValue: Bool
    /// Whether a closure judges what is written.
    package let judgesWrites: Bool
    /// The closures, in the form in which whoever calls them keeps them; `nil` where they are kept elsewhere.
    package let closures: (any Sendable)?

    package init(computesValue: Bool, judgesWrites: Bool, closures: (any Sendable)?) {
        self.computesValue = computesValue
        self.judgesWrites = judgesWrites
        self.closures = closures
    }

    /// What the closures are for, without them.
    package var withoutClosures: LocalAnswers {
        LocalAnswers(computesValue: computesValue, judgesWrites: judgesWrites, closures: nil)
    }
}

extension LocalAnswers: Hashable {
    package static func == (left: LocalAnswers, right: LocalAnswers) -> Bool {
        left.computesValue == right.computesValue && left.judgesWrites == right.judgesWrites
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(computesValue)
        hasher.combine(judgesWrites)
    }
}
