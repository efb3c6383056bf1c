/// The writes that a client has prepared and not yet executed: in order, each one separately, and never more than the
/// server has room for.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.6.
struct PreparedWriteQueue: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        var handle: UInt16
        var offset: Int
        var part: ArraySlice<UInt8>

        var end: Int { offset + part.count }
    }

    private(set) var entries: [Entry] = []
    private var octets = 0

    /// Adds a write; if there is no room, nothing changes and the result is `false`.
    mutating func append(_ entry: Entry, limits: ATTServer.Limits) -> Bool {
        guard entries.count < limits.preparedWrites, octets + entry.part.count <= limits.preparedOctets else {
            return false
        }
        // A copy, since the slice would keep the whole PDU alive.
        entries.append(Entry(handle: entry.handle, offset: entry.offset, part: Array(entry.part)[...]))
        octets += entry.part.count
        return true
    }

    /// Empties the queue and returns what was in it.
    mutating func take() -> [Entry] {
        defer { self = PreparedWriteQueue() }
        return entries
    }
}

/// Consecutive prepared writes of one attribute, or another write of it.
package struct AttributeWrites: Hashable, Sendable {
    package let handle: UInt16
    private(set) var entries: [PreparedWriteQueue.Entry]
    /// Whether all queued writes to this attribute together make up its whole value, each continuing the previous one,
    /// from the beginning: the procedure Write Long Characteristic Values. Otherwise they change parts of it.
    private(set) var isOfWhole: Bool

    /// Groups the queue's writes that belong together, and keeps their order.
    static func inOrder(_ entries: [PreparedWriteQueue.Entry]) -> [AttributeWrites] {
        var ends: [UInt16: Int] = [:]
        var parts: Set<UInt16> = []
        for entry in entries {
            if entry.offset != ends[entry.handle, default: 0] { parts.insert(entry.handle) }
            ends[entry.handle] = entry.end
        }
        var groups: [AttributeWrites] = []
        for entry in entries {
            if let last = groups.last, last.handle == entry.handle {
                groups[groups.count - 1].entries.append(entry)
            } else {
                let isOfWhole = !parts.contains(entry.handle)
                groups.append(AttributeWrites(handle: entry.handle, entries: [entry], isOfWhole: isOfWhole))
            }
        }
        return groups
    }

    /// The value after these writes.
    ///
    /// A whole value replaces one of variable length, as a Write Request would; other writes overwrite parts of it.
    package func merged(into current: [UInt8], of attribute: Attribute) throws(ATTError) -> [UInt8] {
        var value = current
        for entry in entries { value = try attribute.overlaying(value, with: entry.part, at: entry.offset) }
        guard isOfWhole, !attribute.hasFixedLength, let end = entries.last?.end else { return value }
        return Array(value.prefix(end))
    }

    /// Whether the value after these writes has a part of the one before them.
    func leavesPart(of attribute: Attribute) -> Bool {
        guard isOfWhole, let first = entries.first, first.offset == 0 else { return true }
        return attribute.hasFixedLength && entries.last.map { $0.end < attribute.maximumLength } ?? true
    }

    /// The writes with those joined that continue one another.
    var runs: [(offset: Int, value: [UInt8])] {
        var runs: [(offset: Int, value: [UInt8])] = []
        for entry in entries {
            if let last = runs.last, last.offset + last.value.count == entry.offset {
                runs[runs.count - 1].value += entry.part
            } else {
                runs.append((entry.offset, Array(entry.part)))
            }
        }
        return runs
    }
}
