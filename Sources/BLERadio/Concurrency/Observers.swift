import Synchronization

/// Who wants to hear of something; a value, kept under its owner's lock together with what is told.
///
/// - They stand in the order in which they came, and are told in that order.
/// - A number stands for one observer in the whole program: taking it out twice, or of a table that has taken another's
///   place meanwhile, does nothing.
/// - Whoever is taken out is handed back, to be let go outside the lock: what a closure holds may end with it, and come
///   back here.
package struct Observers<Observer> {
    package typealias ID = Int

    @usableFromInline var entries: [(id: ID, observer: Observer)] = []

    @inlinable
    package init() {}

    @inlinable
    package var isEmpty: Bool { entries.isEmpty }

    @inlinable
    package var count: Int { entries.count }

    /// All of them, to be told once the lock is left.
    @inlinable
    package var all: [Observer] { entries.map(\.observer) }

    /// The same, with their numbers.
    @inlinable
    package var numbered: [(id: ID, observer: Observer)] { entries }

    /// Adds one behind the others; the number takes it out again.
    @inlinable
    package mutating func add(_ observer: Observer) -> ID {
        let id = nextObserverNumber()
        entries.append((id, observer))
        return id
    }

    /// Takes one out; `nil` where it isn't there any more.
    @inlinable
    package mutating func remove(_ id: ID) -> Observer? { place(of: id).map { entries.remove(at: $0).observer } }

    /// Takes all of them out.
    @inlinable
    package mutating func removeAll() -> [Observer] {
        defer { entries = [] }
        return all
    }

    /// Takes out those of whom the closure says so.
    @inlinable
    package mutating func removeAll(where isGoing: (Observer) -> Bool) -> [Observer] {
        let going = entries.filter { isGoing($0.observer) }
        if !going.isEmpty { entries.removeAll { isGoing($0.observer) } }
        return going.map(\.observer)
    }

    /// One of them; `nil` where it isn't there any more.
    @inlinable
    package subscript(id: ID) -> Observer? {
        get { place(of: id).map { entries[$0].observer } }
        set {
            guard let place = place(of: id) else { return }
            if let newValue { entries[place].observer = newValue } else { entries.remove(at: place) }
        }
    }

    /// Changes each of them.
    @inlinable
    package mutating func updateEach(_ body: (inout Observer) -> Void) {
        for place in entries.indices { body(&entries[place].observer) }
    }

    /// Numbers rise, so the place is found by halving.
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

/// Rises with each call, so that in one table, which is changed under a lock, those who come later have higher numbers.
@usableFromInline
func nextObserverNumber() -> Int { lastObserverNumber.add(1, ordering: .relaxed).newValue }
