import Synchronization

/// A table of observers: a value that its owner keeps under the same lock as the observed state.
///
/// - Observers are kept, and called, in the order in which they were added.
/// - A number identifies one observer in the whole program: removing it twice, or from a table that has replaced the
///   original, does nothing.
/// - Removed observers are returned, to be released outside the lock: releasing a closure may release what it holds,
///   which may call back into this table.
@usableFromInline
package struct Observers<Observer> {
    @usableFromInline package typealias ID = Int

    @usableFromInline var entries: [(id: ID, observer: Observer)] = []

    @inlinable
    package init() {}

    @inlinable
    package var isEmpty: Bool { entries.isEmpty }

    @inlinable
    package var count: Int { entries.count }

    /// All observers; call them once the lock is released.
    // A key path of a generic type is created at each use, which took a tenth of all the time of a simulation.
    @inlinable
    package var all: [Observer] { entries.map { $0.observer } }

    /// The same, with their numbers.
    @inlinable
    package var numbered: [(id: ID, observer: Observer)] { entries }

    /// Adds an observer at the end. Returns the number with which to remove it.
    @inlinable
    package mutating func add(_ observer: Observer) -> ID {
        let id = nextObserverNumber()
        entries.append((id, observer))
        return id
    }

    /// Removes an observer; `nil` if it is no longer there.
    @inlinable
    package mutating func remove(_ id: ID) -> Observer? { place(of: id).map { entries.remove(at: $0).observer } }

    /// Removes all observers.
    @inlinable
    package mutating func removeAll() -> [Observer] {
        defer { entries = [] }
        return all
    }

    /// Removes the observers for which the closure returns true.
    @inlinable
    package mutating func removeAll(where isGoing: (Observer) -> Bool) -> [Observer] {
        let going = entries.filter { isGoing($0.observer) }
        if !going.isEmpty { entries.removeAll { isGoing($0.observer) } }
        return going.map { $0.observer }
    }

    /// The observer with this number; `nil` if it is no longer there.
    @inlinable
    package subscript(id: ID) -> Observer? {
        get { place(of: id).map { entries[$0].observer } }
        set {
            guard let place = place(of: id) else { return }
            if let newValue { entries[place].observer = newValue } else { entries.remove(at: place) }
        }
    }

    /// Changes each observer.
    @inlinable
    package mutating func updateEach(_ body: (inout Observer) -> Void) {
        for place in entries.indices { body(&entries[place].observer) }
    }

    /// A binary search: the numbers ascend.
    @inlinable
    func place(of id: ID) -> Int? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].id == id ? low : nil
    }
}

extension Observers: Sendable where Observer: Sendable {}

private let lastObserverNumber = Atomic(0)

/// Increases with each call, so that within one table, which is changed under a lock, later observers have higher
/// numbers.
@usableFromInline
func nextObserverNumber() -> Int { lastObserverNumber.add(1, ordering: .relaxed).newValue }
