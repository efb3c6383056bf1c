/// Reads, writes and subscribes to characteristics: a ``Link``, a ``Session``, or a command's context.
///
/// Extensions of this protocol implement each operation once, for all of them. They differ in the link that the
/// operations use: a ``Link`` is one; a ``Session`` waits until it is ready, and its streams survive lost links; a
/// command has the link to itself.
public protocol CharacteristicAccess: Sendable {
    /// Runs the closure with the link, for one operation.
    ///
    /// - Parameters:
    ///   - operation: what the closure does; a session's state shows it meanwhile.
    ///   - timeout: how long to wait for a link; `nil`: for as long as it takes.
    ///   - body: the operation. If it fails, it isn't repeated.
    /// - Throws: what the closure throws; the reason why there is no link.
    func withLink<Output: Sendable>(
        for operation: CharacteristicOperation,
        timeout: Duration?,
        _ body: (Link) async throws -> Output
    ) async throws -> Output

    /// The octets that a characteristic notifies or indicates.
    ///
    /// - Parameters:
    ///   - characteristic: the characteristic.
    ///   - readsFirst: whether the stream begins with the value that is read.
    ///   - indications: whether to prefer indications if the characteristic has both.
    ///   - buffer: what happens when values arrive faster than they are consumed.
    func octets(
        of characteristic: CharacteristicReference,
        readingFirst readsFirst: Bool,
        indications: Bool,
        buffer: BufferPolicy
    ) -> BLEStream<CharacteristicValue>
}

/// An operation on a characteristic.
public enum CharacteristicOperation: Hashable, Sendable {
    /// Reading it.
    case read
    /// Writing it.
    case write
}
