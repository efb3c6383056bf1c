/// A queue in one growing circular array: both ends in constant time, and no allocation once it has grown.
@usableFromInline
struct Ring<Element> {
    @usableFromInline var storage: [Element?] = []
    // Half words: several queues belong to each subscription, of which a process may have ten thousand. Callers limit
    // their number of elements to what these can count.
    @usableFromInline var headPosition: Int32 = 0
    @usableFromInline var elementCount: Int32 = 0

    @inlinable var head: Int {
        get { Int(headPosition) }
        set { headPosition = Int32(newValue) }
    }

    @inlinable var count: Int {
        get { Int(elementCount) }
        set { elementCount = Int32(newValue) }
    }

    @inlinable
    init() {}

    @inlinable var isEmpty: Bool { count == 0 }

    /// The number of elements that it has room for.
    @inlinable var capacity: Int { storage.count }

    @inlinable var first: Element? { isEmpty ? nil : storage[head] }

    @inlinable var last: Element? { isEmpty ? nil : storage[wrapped(head + count - 1)] }

    /// All elements, the first one first.
    var elements: [Element] { (0..<count).compactMap { storage[wrapped(head + $0)] } }

    @inlinable
    mutating func append(_ element: Element) {
        if count == storage.count { grow() }
        storage[wrapped(head + count)] = element
        count += 1
    }

    @inlinable
    mutating func append(contentsOf elements: some Collection<Element>) {
        if elements.count == 1, let only = elements.first { return append(only) }
        while storage.count - count < elements.count { grow() }
        var position = wrapped(head + count)
        for element in elements {
            storage[position] = element
            position += 1
            if position == storage.count { position = 0 }
        }
        count += elements.count
    }

    @inlinable
    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = storage[head].take()
        head = wrapped(head + 1)
        count -= 1
        return element
    }

    /// Replaces the last element; does nothing if the queue is empty.
    @inlinable
    mutating func replaceLast(with element: Element) {
        if !isEmpty { storage[wrapped(head + count - 1)] = element }
    }

    /// Replaces the last element that meets a condition; returns the one that was there, `nil` if none meets it.
    mutating func replaceLast(where isWanted: (Element) -> Bool, by change: (Element) -> Element) -> Element? {
        for offset in (0..<count).reversed() {
            let place = wrapped(head + offset)
            guard let element = storage[place], isWanted(element) else { continue }
            storage[place] = change(element)
            return element
        }
        return nil
    }

    @inlinable
    func wrapped(_ index: Int) -> Int { index >= storage.count ? index - storage.count : index }

    @inlinable
    mutating func grow() {
        let size = Swift.max(8, storage.count * 2)
        var larger: [Element?] = []
        larger.reserveCapacity(size)
        larger.append(contentsOf: storage[head...])
        larger.append(contentsOf: storage[..<head])
        larger.append(contentsOf: repeatElement(nil, count: size - storage.count))
        storage = larger
        head = 0
    }
}

extension Ring: Sendable where Element: Sendable {}
