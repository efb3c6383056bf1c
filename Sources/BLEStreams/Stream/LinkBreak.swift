import Synchronization

/// The end of a session's link. Each subscription of the session reports the gap, and a consumer of several is told of
/// one.
final class LinkBreak: Sendable {
    /// The buffers whose consumers have been told, while they are there.
    private let told = Mutex<[ObjectIdentifier]>([])

    /// Whether the consumer of a buffer has not been told yet; from now on it has.
    func isNew(to buffer: ObjectIdentifier) -> Bool {
        told.withLock { told in
            guard !told.contains(buffer) else { return false }
            told.append(buffer)
            return true
        }
    }
}
