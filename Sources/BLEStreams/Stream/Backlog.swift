/// A queue of values, which arrive one by one or many at once.
///
/// Values that arrive together are kept in their array: nothing is copied, and the caller changes no reference counts
/// of values, which they may share with other threads.
struct Backlog<Element> {
    /// The smallest number of values that is kept in its array.
    private static var smallestBurst: Int { 8 }

    /// The first array in line, from ``position`` on; then the arrays that arrived after it.
    private var burst: [Element] = []
    private var position: Int32 = 0
    private var elementCount: Int32 = 0
    private var bursts = Ring<[Element]>()
    /// The values that arrived one by one, after all arrays.
    private var single = Ring<Element>()

    private(set) var count: Int {
        get { Int(elementCount) }
        set { elementCount = Int32(newValue) }
    }

    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element) {
        single.append(element)
        count += 1
    }

    mutating func append(contentsOf elements: some Collection<Element>) {
        single.append(contentsOf: elements)
        count += elements.count
    }

    /// Appends values that arrived together. Their array is kept until its last value is taken.
    mutating func append(burst elements: [Element]) {
        guard elements.count >= Self.smallestBurst else { return append(contentsOf: elements) }
        if !single.isEmpty {
            bursts.append(single.elements)
            single = Ring()
        }
        bursts.append(elements)
        count += elements.count
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        count -= 1
        while Int(position) == burst.count {
            // The storage of single values is reused, that of a burst isn't.
            guard let next = bursts.popFirst() else { return single.popFirst() }
            (burst, position) = (next, 0)
        }
        defer {
            position += 1
            if Int(position) == burst.count { (burst, position) = ([], 0) }
        }
        return burst[Int(position)]
    }

    /// Releases memory that only a large backlog needs; call it when the queue is empty.
    mutating func shrink() {
        if single.capacity > 4096 { single = Ring() }
        if bursts.capacity > 64 { bursts = Ring() }
    }
}

extension Backlog: Sendable where Element: Sendable {}
