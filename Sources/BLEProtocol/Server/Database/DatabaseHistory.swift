/// One change of a database: the handles that are gone, and those that are new.
package struct DatabaseChange: Hashable, Sendable {
    /// The ranges of the removed services.
    package var removed: [ClosedRange<UInt16>]

    /// The range that a client must discover again: from the first removed or new attribute to the last.
    package var affected: ClosedRange<UInt16>

    init(removed: [ClosedRange<UInt16>], added: [ClosedRange<UInt16>]) {
        self.removed = removed
        let all = removed + added
        affected = (all.map(\.lowerBound).min() ?? 1)...(all.map(\.upperBound).max() ?? 0xFFFF)
    }

    /// Everything may be different.
    static let everything = DatabaseChange(removed: [1...0xFFFF], added: [])

    /// Whether the attribute that had this handle was removed.
    package func hasRemoved(_ handle: UInt16) -> Bool { removed.contains { $0.contains(handle) } }

    /// This change and a later one, combined.
    mutating func append(_ later: DatabaseChange) {
        removed += later.removed
        affected = affected.union(later.affected)
    }
}

extension ClosedRange<UInt16> {
    /// The range from the first handle of both to the last.
    package func union(_ other: Self) -> Self {
        Swift.min(lowerBound, other.lowerBound)...Swift.max(upperBound, other.upperBound)
    }
}

/// The changes of a database since it was made, the last ones in detail, so that each client learns what it missed.
package struct DatabaseHistory: Hashable, Sendable {
    private static let limit = 16

    /// The number of changes.
    package private(set) var version = 0

    private var changes: [DatabaseChange] = []

    mutating func append(_ change: DatabaseChange) {
        version += 1
        changes.append(change)
        if changes.count > Self.limit { changes.removeFirst() }
    }

    /// All changes since a version, combined; `nil` if there are none.
    package func change(since old: Int) -> DatabaseChange? {
        guard old != version else { return nil }
        let missed = version - old
        guard missed > 0, missed <= changes.count else { return .everything }
        var recent = changes.suffix(missed)
        var merged = recent.removeFirst()
        for change in recent { merged.append(change) }
        return merged
    }
}
