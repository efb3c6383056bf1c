import BLEProtocol

/// The first error of several streams, which is thrown behind what the others have received, and the parts of messages
/// that these have when they fail or end.
struct FirstFailure {
    private(set) var error: (any Error)?
    private var others = UnfinishedParts()

    /// Adds an error; of a later one, only the parts that it hands out: nobody gets the error itself.
    mutating func add(_ next: any Error) {
        guard error == nil else { return others.add(UnfinishedParts(handedOutBy: next)) }
        error = next
    }

    mutating func add(_ parts: UnfinishedParts) { others.add(parts) }

    /// The error with the parts of all streams; `nil` if none has failed. An error of another type can't have them.
    var thrown: (any Error)? {
        guard let error else { return nil }
        guard var first = error as? BLEError else { return error }
        first.add(others.all)
        return first
    }

    /// The parts, for an error that comes before this one is thrown.
    var parts: UnfinishedParts {
        var parts = UnfinishedParts(handedOutBy: error)
        parts.add(others)
        return parts
    }
}
