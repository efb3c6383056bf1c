/// Identifies a link: the place of its record, and a number that distinguishes it from earlier links in that place.
struct LinkID: Hashable, Comparable, Sendable {
    let place: UInt32

    /// Counts the links of the air, from 0.
    let number: UInt32

    static func < (left: LinkID, right: LinkID) -> Bool { left.number < right.number }
}

/// The links of an air that are still needed.
///
/// An array whose places are reused: links are looked up for every PDU, and a dictionary would cost more than the rest
/// of the PDU's path.
struct LinkTable {
    private var records: [LinkRecord?] = []
    private var free: [UInt32] = []
    private var nextNumber: UInt32 = 0

    subscript(id: LinkID) -> LinkRecord? {
        guard let record = records[Int(id.place)], record.id == id else { return nil }
        return record
    }

    /// All links, oldest first.
    var all: [LinkRecord] { records.compactMap { $0 }.sorted { $0.id < $1.id } }

    /// The identifier under which the next link must be inserted.
    mutating func nextID() -> LinkID {
        defer { nextNumber += 1 }
        if let place = free.popLast() { return LinkID(place: place, number: nextNumber) }
        records.append(nil)
        return LinkID(place: UInt32(records.count - 1), number: nextNumber)
    }

    mutating func insert(_ record: LinkRecord) { records[Int(record.id.place)] = record }

    mutating func remove(_ id: LinkID) {
        guard self[id] != nil else { return }
        records[Int(id.place)] = nil
        free.append(id.place)
    }
}
