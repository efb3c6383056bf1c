/// Values by key, in the order in which the keys were last seen; each step takes constant time.
struct RecencyTable<Key: Hashable, Value> {
    private struct Entry {
        var value: Value
        var seen: Duration
        var older: Key?
        var newer: Key?
    }

    private var entries: [Key: Entry] = [:]
    private var oldestKey: Key?
    private var newestKey: Key?

    var count: Int { entries.count }

    /// The value of a key; `nil` if it isn't present.
    subscript(key: Key) -> Value? { entries[key]?.value }

    /// The key that hasn't been seen for longest.
    var oldest: (key: Key, value: Value, seen: Duration)? {
        guard let oldestKey, let entry = entries[oldestKey] else { return nil }
        return (oldestKey, entry.value, entry.seen)
    }

    /// Replaces the value of a key; `false` if it isn't present.
    mutating func renew(_ key: Key, _ value: Value, at moment: Duration) -> Bool {
        guard remove(key) else { return false }
        insert(key, value, at: moment)
        return true
    }

    /// Adds a key that isn't present.
    mutating func insert(_ key: Key, _ value: Value, at moment: Duration) {
        entries[key] = Entry(value: value, seen: moment, older: newestKey)
        if let newestKey { entries[newestKey]?.newer = key }
        newestKey = key
        oldestKey = oldestKey ?? key
    }

    @discardableResult
    mutating func remove(_ key: Key) -> Bool {
        guard let entry = entries.removeValue(forKey: key) else { return false }
        if let older = entry.older { entries[older]?.newer = entry.newer } else { oldestKey = entry.newer }
        if let newer = entry.newer { entries[newer]?.older = entry.older } else { newestKey = entry.older }
        return true
    }
}
