/// A queue of values, which come one by one or many at once.
///
/// What comes at once is kept as it came: nothing is copied, and whoever brought it has nothing more to do with the
/// values, each of which may share what other threads count references to.
struct Backlog<Element> {
    /// From how many on it is worth keeping them as they came.
    private static var smallestBurst: Int { 8 }

    /// What came at once and is first in line, from ``position`` on; then what came after that.
    private var burst: [Element] = []
    private var position: Int32 = 0
    private var elementCount: Int32 = 0
    private var bursts = Ring<[Element]>()
    /// What came one by one, after all bursts.
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

    /// Appends what came at once. It is kept whole until its last value is taken.
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
            // The storage of what came one by one is used again, that of a burst is not.
            guard let next = bursts.popFirst() else { return single.popFirst() }
            (burst, position) = (next, 0)
        }
        defer {
            position += 1
            if Int(position) == burst.count { (burst, position) = ([], 0) }
        }
        return burst[Int(position)]
    }

    /// Gives memory back that only a large backlog needs; to be called when it is empty.
    mutating func shrink() {
        if single.capacity > 4096 { single = Ring() }
        if bursts.capacity > 64 { bursts = Ring() }
    }
}

extension Backlog: Sendable where Element: Sendable {}
