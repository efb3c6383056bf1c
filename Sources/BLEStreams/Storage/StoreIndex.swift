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

    /// By how many nanoseconds a file may be later than the one that this program has written last: others write, too.
    private static let tolerance = 60_000_000_000

    /// The strangers whose files were written longest ago, if there are more than a number of them: enough to leave
    /// room for new ones, but not so many that removing them takes long.
    ///
    /// - Parameter latest: the stranger whose file was written just now. Files that are later than that were written
    ///   before the clock was set back, and it isn't known how long ago: they count as the oldest.
    func strangers(beyond limit: Int, whenWriting latest: BluetoothAddress) -> [BluetoothAddress] {
        let strangers = entries.filter(\.value.isStranger)
        guard strangers.count > limit else { return [] }
        let now = entries[latest].map { $0.stamp.written &+ Self.tolerance } ?? .max
        let age = { (peer: BluetoothAddress, entry: Entry) in
            (entry.stamp.written > now ? 0 : 1, entry.stamp.written, peer.rawValue)
        }
        let oldest = strangers.sorted { age($0.key, $0.value) < age($1.key, $1.value) }
        return oldest.prefix(min(strangers.count - limit + limit / 16, limit / 8)).map(\.key)
    }
}
