/// Values by key, in one array; for the tables of a link, which have one or two entries.
///
/// A hash table for each of them would take more memory than all else that an idle link needs. A lookup takes time in
/// proportion to the number of entries, whose order is not kept.
struct SmallTable<Key: Equatable, Value> {
    private var entries: [(key: Key, value: Value)] = []

    /// The value of a key; `nil` if there is none. Setting `nil` removes the entry.
    subscript(key: Key) -> Value? {
        get { index(of: key).map { entries[$0].value } }
        set {
            switch (index(of: key), newValue) {
            case (let index?, let value?): entries[index].value = value
            case (nil, let value?): entries.append((key, value))
            case (let index?, nil): remove(at: index)
            case (nil, nil): break
            }
        }
    }

    /// The value of a key; the default value is added if there is none.
    subscript(key: Key, default value: @autoclosure () -> Value) -> Value {
        get { self[key] ?? value() }
        _modify {
            if index(of: key) == nil { entries.append((key, value())) }
            yield &entries[index(of: key) ?? entries.count - 1].value
        }
    }

    @discardableResult
    mutating func removeValue(forKey key: Key) -> Value? { index(of: key).map { remove(at: $0) } }

    var keys: [Key] { entries.map { $0.key } }

    var values: [Value] { entries.map { $0.value } }

    private func index(of key: Key) -> Int? { entries.firstIndex { $0.key == key } }

    @discardableResult
    private mutating func remove(at index: Int) -> Value {
        entries.swapAt(index, entries.count - 1)
        let removed = entries.removeLast().value
        if entries.isEmpty { entries = [] }
        return removed
    }
}

extension Array {
    /// Removes an element, which mostly is the last one: then nothing is moved.
    mutating func take(at index: Int) -> Element { index == count - 1 ? removeLast() : remove(at: index) }
}

extension SmallTable: Sequence {
    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    var first: (key: Key, value: Value)? { entries.first }
    func makeIterator() -> IndexingIterator<[(key: Key, value: Value)]> { entries.makeIterator() }
}

extension SmallTable: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (Key, Value)...) {
        for (key, value) in elements { self[key] = value }
    }
}

extension SmallTable: Sendable where Key: Sendable, Value: Sendable {}
