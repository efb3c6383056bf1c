import Synchronization

/// The centrals of which a chunk was lost, for as long as anything keeps them: of one that nothing keeps, nothing more
/// comes. Centrals come and go for months, and one may break its messages on each link.
final class BrokenCentrals: Sendable {
    private struct Entry {
        weak let central: (any AnyObject & Sendable)?
    }

    private let entries = Mutex<[Int: Entry]>([:])

    /// How many are remembered.
    var count: Int { entries.withLock { $0.count } }

    /// Whether none of this central's was lost before.
    ///
    /// - Parameter id: the central's number, which no other one gets.
    func isFirstLoss(of central: any AnyObject & Sendable, _ id: Int) -> Bool {
        entries.withLock { entries in
            guard entries[id] == nil else { return false }
            entries = entries.filter { $0.value.central != nil }
            entries[id] = Entry(central: central)
            return true
        }
    }
}
