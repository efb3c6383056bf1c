/// A queue in one growing circular array: both ends in constant time, and no allocation once it has grown.
struct Ring<Element> {
    private var storage: [Element?] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element) {
        if count == storage.count { grow() }
        var tail = head + count
        if tail >= storage.count { tail -= storage.count }
        storage[tail] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = storage[head].take()
        head += 1
        if head == storage.count { head = 0 }
        count -= 1
        return element
    }

    private mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(Swift.max(8, storage.count * 2))
        larger.append(contentsOf: storage[head...])
        larger.append(contentsOf: storage[..<head])
        larger.append(contentsOf: repeatElement(nil, count: Swift.max(8, storage.count * 2) - storage.count))
        storage = larger
        head = 0
    }
}

extension Ring: Sendable where Element: Sendable {}
