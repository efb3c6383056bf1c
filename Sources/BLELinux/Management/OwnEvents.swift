internal import BLEProtocol

/// Tells which of the kernel's events are about one adapter, whose number may change.
///
/// Another thread may have seen an adapter under its new number, since it was unplugged and plugged in again, while
/// events are still to be read that have the old one: up to its removal, these are its own.
struct OwnEvents: Sendable {
    /// The number in the last of its events; `nil` behind its removal.
    private var index: ManagementIndex?

    init(of index: ManagementIndex) { self.index = index }

    /// Whether an event is about the adapter. So may be one of an adapter that is plugged in under another number.
    ///
    /// - Parameter now: the number that it was last seen with.
    mutating func include(_ event: ManagementClient.IndexedEvent, now: ManagementIndex) -> Bool {
        let isOwn = event.index == index || event.index == now
        switch event.event {
        case .indexRemoved where isOwn, .extendedIndexRemoved where isOwn: index = nil
        case .indexAdded, .extendedIndexAdded: return true
        default: if event.index == now { index = now }
        }
        return isOwn
    }
}
