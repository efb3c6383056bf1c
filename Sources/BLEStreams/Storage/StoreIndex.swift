import BLEProtocol

/// What the files of a store hold, as far as all of them matter at once: the bonds, and which peers are strangers.
struct StoreIndex: Sendable {
    private struct Entry {
        var stamp: FileStamp
        var bonds: [Bond]
        var isStranger: Bool
    }

    private var entries: [BluetoothAddress: Entry] = [:]

    /// The bonds of each peer that has any.
    var bonds: [BluetoothAddress: [Bond]] {
        entries.filter { !$0.value.bonds.isEmpty }.mapValues(\.bonds)
    }

    /// Forgets the files that have changed or gone. Returns the peers whose files must be read.
    mutating func keep(_ stamps: [BluetoothAddress: FileStamp]) -> [BluetoothAddress] {
        entries = entries.filter { $0.value.stamp == stamps[$0.key] }
        return stamps.keys.filter { entries[$0] == nil }.sorted { $0.rawValue < $1.rawValue }
    }

    /// Takes what a file holds.
    ///
    /// - Parameter stamp: the file's, from before it was read: if it has changed since, it is read again.
    mutating func take(_ record: PeerRecord, of peer: BluetoothAddress, _ stamp: FileStamp) {
        entries[peer] = Entry(stamp: stamp, bonds: record.bonds(with: peer), isStranger: record.isStrangers)
    }

    /// The strangers whose files were written longest ago, if there are more than a number of them: enough to leave
    /// room for new ones, but not so many that removing them takes long.
    func strangers(beyond limit: Int) -> [BluetoothAddress] {
        let strangers = entries.filter(\.value.isStranger)
        guard strangers.count > limit else { return [] }
        let oldest = strangers.sorted { one, other in
            (one.value.stamp.written, one.key.rawValue) < (other.value.stamp.written, other.key.rawValue)
        }
        return oldest.prefix(min(strangers.count - limit + limit / 16, limit / 8)).map(\.key)
    }
}
