internal import BLEProtocol

/// Tells which of the kernel's events are about one adapter, whose number may change.
///
/// Another thread may have seen an adapter under its new number, or absent, since it was unplugged, while events are
/// still to be read that have the old number: up to its removal, these are its own.
struct OwnEvents: Sendable {
    /// The number under which it was plugged in last; `nil` behind its removal.
    private var index: ManagementIndex?
    /// Looks for the adapter, whose number is known then.
    private let look: @Sendable () -> Void

    /// - Parameter index: the adapter's number, read after a first look.
    init(of index: @autoclosure () -> ManagementIndex, looking look: @escaping @Sendable () -> Void = {}) {
        look()
        self.index = index()
        self.look = look
    }

    /// Whether an event is about the adapter. So may be one of an adapter that is plugged in under another number.
    ///
    /// An adapter that is plugged in is looked for at once: its next events may have been read already, and nothing
    /// else may be told of it before it is unplugged.
    ///
    /// - Parameter now: the number that it was last seen with.
    mutating func include(_ event: ManagementClient.IndexedEvent, now: @autoclosure () -> ManagementIndex) -> Bool {
        let isNew =
            switch event.event {
            case .indexAdded, .extendedIndexAdded: true
            default: false
            }
        if isNew { look() }
        let seen = now()
        // The former adapter with the number was removed, also if the report of that was lost.
        if isNew, event.index == index, event.index != seen { index = nil }
        let isOwn = event.index == index || event.index == seen
        switch event.event {
        case .indexRemoved where isOwn, .extendedIndexRemoved where isOwn: index = nil
        default: if event.index == seen { index = seen }
        }
        return isOwn || isNew
    }
}
