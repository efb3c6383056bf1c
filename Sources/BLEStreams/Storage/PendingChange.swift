/// A change of a peer's record that its file lacks.
struct PendingChange: Sendable {
    /// What becomes of it if it could not be written.
    enum Worth: Hashable, Sendable {
        /// It is dropped: what it stores can be determined again.
        case passing
        /// It is tried again, unless another one has followed: it removes services that are wrong, and that the next
        /// link would take from the file.
        case forgetting
        /// It is tried again, unless many others like it have followed: each takes the place of the one before.
        case lasting
        /// It is tried again, however much else has followed: only other bonds take the place of a bond.
        case bond
    }

    var change: PeerStore.Change
    var worth: Worth

    /// How many of one peer are kept after a failed write, of bonds and of what else lasts.
    private static let most = 16

    /// Those that are kept after a failed write, in their order. However long the disk is full, no more than this is
    /// kept.
    static func kept(of changes: [PendingChange]) -> [PendingChange] {
        var room = [Worth.forgetting: 1, Worth.lasting: most, Worth.bond: most]
        let newestFirst = changes.reversed().filter { pending in
            guard let left = room[pending.worth], left > 0 else { return false }
            room[pending.worth] = left - 1
            return true
        }
        return Array(newestFirst.reversed())
    }
}
