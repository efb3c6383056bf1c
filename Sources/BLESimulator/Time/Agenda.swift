/// The scheduled entries, earliest first; entries due at the same moment keep the order in which they were added.
///
/// A binary heap. Entries are not removed before they are due: whoever cancels one ignores it when it comes.
struct Agenda<Entry: Sendable>: Sendable {
    private struct Item: Sendable {
        /// In attoseconds, which compare faster than a `Duration`.
        var due: Int128
        var order: UInt64
        var entry: Entry

        static func < (left: Item, right: Item) -> Bool {
            left.due < right.due || left.due == right.due && left.order < right.order
        }
    }

    private var heap: [Item] = []
    private var nextOrder: UInt64 = 0

    var count: Int { heap.count }

    /// When the earliest entry is due.
    var earliest: Duration? { heap.first.map { Duration(attoseconds: $0.due) } }

    /// The earliest entry.
    var first: Entry? { heap.first?.entry }

    mutating func insert(_ entry: Entry, due: Duration) {
        heap.append(Item(due: due.attoseconds, order: nextOrder, entry: entry))
        nextOrder &+= 1
        siftUp(from: heap.count - 1)
    }

    /// Takes the earliest entry.
    mutating func popFirst() -> (due: Duration, entry: Entry)? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            siftDown(from: 0)
        }
        return (Duration(attoseconds: first.due), first.entry)
    }

    /// Takes the earliest entry if it is due.
    mutating func popFirst(dueBy now: Duration) -> (due: Duration, entry: Entry)? {
        guard let earliest, earliest <= now else { return nil }
        return popFirst()
    }

    mutating func removeAll() { heap = [] }

    /// Removes entries that were cancelled.
    mutating func removeAll(where isCancelled: (Entry) -> Bool) {
        heap.removeAll { isCancelled($0.entry) }
        heap.sort(by: <)  // a sorted array is a heap
    }

    // MARK: - Heap

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { return }
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
