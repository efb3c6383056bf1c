/// What characteristics are read, written and subscribed to through: a ``Link``, a ``Session``, a command's context.
///
/// All operations are written once, for all of them, in extensions of this protocol. They differ in the link that they are
/// carried out on: a ``Link`` is one, a ``Session`` waits until it is ready and its streams survive lost links, a command
/// has the link for itself.
public protocol CharacteristicAccess: Sendable {
    /// Runs the closure with the link, for one operation.
    ///
    /// - Parameters:
    ///   - operation: what the closure does; a session's state tells it meanwhile.
    ///   - timeout: how long to wait for a link; `nil`: for as long as it takes.
    ///   - body: the operation. A closure that fails isn't run again.
    /// - Throws: what the closure throws; why there is no link.
    func withLink<Output: Sendable>(
        for operation: CharacteristicOperation,
        timeout: Duration?,
        _ body: (Link) async throws -> Output
    ) async throws -> Output

    /// The octets that a characteristic notifies or indicates.
    ///
    /// - Parameters:
    ///   - characteristic: which one.
    ///   - readsFirst: whether the stream begins with the value as it is read.
    ///   - indications: whether indications are preferred where the characteristic has both.
    ///   - buffer: what happens when values come faster than they are taken.
    func octets(
        of characteristic: CharacteristicReference,
        readingFirst readsFirst: Bool,
        indications: Bool,
        buffer: BufferPolicy
    ) -> BLEStream<CharacteristicValue>
}

/// What is done with a characteristic.
public enum CharacteristicOperation: Hashable, Sendable {
    /// It is read.
    case read
    /// It is written.
    case write
}
