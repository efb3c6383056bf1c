import BLEProtocol
import BLERadio
import Synchronization

// Answers a central's requests with the closures that were declared with the characteristic, and the later parts of a
// long value by itself.
extension ConnectedCentral {
    /// Values that a central is reading in parts.
    struct LongReads {
        private struct Kept {
            var value: [UInt8]
            var deadline: Duration
        }

        /// At most this many characteristics at a time; if a central alternates between more, values are computed
        /// again.
        private static let most = 4
        /// As long as one request of the same read may take.
        private static let patience = Duration.seconds(30)

        private var kept: [UInt16: Kept] = [:]

        /// The value for the next part, if the previous part was read from it.
        func value(at handle: UInt16, offset: Int, now: Duration) -> [UInt8]? {
            guard offset > 0, let kept = kept[handle], now < kept.deadline, offset <= kept.value.count else {
                return nil
            }
            return kept.value
        }

        /// Keeps a value of which a part is sent, unless that part is shorter than it could be, and so reaches the end.
        ///
        /// - Parameter limit: how many octets the part has at most.
        mutating func sent(_ value: [UInt8], at handle: UInt16, offset: Int, limit: Int, now: Duration) {
            guard value.count - offset >= limit else { return forget(handle) }
            if kept.count >= Self.most, kept[handle] == nil {
                kept = kept.filter { now < $0.value.deadline }
                if kept.count >= Self.most { kept = [:] }
            }
            kept[handle] = Kept(value: value, deadline: now + Self.patience)
        }

        mutating func forget(_ handle: UInt16) { kept[handle] = nil }
    }

    /// Answers a read of a later part from the value to which the previous part belongs; returns whether that is kept.
    func continueReading(_ read: ATTServer.PendingRead, _ answer: PendingAnswer) -> Bool {
        let now = bearer.timeline.now
        let value = state.withLock { $0.longReads.value(at: read.handle, offset: read.offset, now: now) }
        guard let value else { return false }
        keep(value, read)
        answer.give(.success(value))
        return true
    }

    /// Answers a read with the value from the closure.
    func compute(
        _ read: ATTServer.PendingRead,
        by closure: @escaping @Sendable (ConnectedCentral) async throws -> [UInt8],
        _ answer: PendingAnswer,
        _ server: PeripheralServer,
        object: @escaping @Sendable () -> String
    ) {
        let limit = server.maximumLength(at: read.handle)
        let isTaken = server.calls.add(id, of: identity, hasLeft: bearer.end != nil) { end in
            await self.call(answer, by: end, server, "read", read.handle, object) {
                let value = try await closure(self)
                guard value.count <= limit else {
                    throw BLEError.computedTooLong(value.count, limit: limit, object())
                }
                return value
            } then: { value in
                self.keep(value, read)
                answer.give(.success(value))
            }
        }
        guard !isTaken else { return }
        server.warnings.tell(.flood(address)) { _ in .floodOfCalls("by \(self)") }
        answer.give(.failure(.insufficientResources))
    }

    /// Keeps a value for the parts that the central reads next.
    func keep(_ value: [UInt8], _ read: ATTServer.PendingRead) {
        let now = bearer.timeline.now
        state.withLock {
            $0.longReads.sent(value, at: read.handle, offset: read.offset, limit: read.limit, now: now)
        }
    }

    /// Lets closures check a write, then takes or refuses it.
    func judge(
        _ write: ATTServer.ServerWrite,
        by closures: ValueClosures,
        _ answer: PendingAnswer?,
        _ server: PeripheralServer,
        object: @escaping @Sendable () -> String
    ) {
        guard let closure = closures.write else { return }
        let limit = server.maximumLength(at: write.handle)
        let name = server.characteristic(at: write.handle)
        let isTaken = server.calls.add(id, of: identity, isUnasked: answer == nil, hasLeft: bearer.end != nil) { end in
            for judgement in 1...Self.mostJudgements {
                var isOutdated = false
                // A write without response is still carried out after its central has left.
                await self.call(answer, by: answer == nil ? Ending() : end, server, "write", write.handle, object) {
                    let value = try await self.whole(write, of: name, closures.read, limit, server)
                    try await closure(value, self)
                    return value
                } then: { value in
                    let change = judgement < Self.mostJudgements ? write.change : nil
                    isOutdated = !self.accept(value, of: write, after: change, name, answer, server)
                }
                guard isOutdated else { return }
            }
        }
        guard !isTaken else { return }
        dropped(server)
        guard let answer else { return refusedUnasked(write.handle, isFlood: true, server) }
        answer.give(.failure(.insufficientResources))
    }

    /// How often a closure judges one write at most: the value that it has accepted last is stored, whatever has
    /// changed meanwhile.
    private static let mostJudgements = 4

    /// Stores a value that a closure has accepted, answers, and tells the streams.
    ///
    /// - Returns: `false` if nothing is stored: the central no longer waits; or what the write leaves of the stored
    ///   value has changed meanwhile, and the closure must judge again what would result now.
    private func accept(
        _ value: [UInt8],
        of write: ATTServer.ServerWrite,
        after change: AttributeWrites?,
        _ name: String,
        _ answer: PendingAnswer?,
        _ server: PeripheralServer
    ) -> Bool {
        let told = ATTServer.ServerWrite(handle: write.handle, offset: 0, value: value, answer: .stored)
        func store() -> Bool { server.store(value, after: change, at: write.handle, of: name) }
        if let answer { return answer.give(.success([]), before: { _ in tell(told, nil, server) }, if: store) }
        guard store() else { return false }
        tell(told, nil, server)
        return true
    }

    /// A write without response was not accepted, and the central isn't told.
    private func refusedUnasked(_ handle: UInt16, isFlood: Bool = false, _ server: PeripheralServer) {
        server.tell(.refusedWrite(self, isFlood: isFlood), of: handle)
    }

    /// The whole value that results from a write: a part is laid over the value as it is now, not as it was when the
    /// part arrived.
    private func whole(
        _ write: ATTServer.ServerWrite,
        of name: String,
        _ read: (@Sendable (ConnectedCentral) async throws -> [UInt8])?,
        _ limit: Int,
        _ server: PeripheralServer
    ) async throws -> [UInt8] {
        if let change = write.change { return try server.value(after: change, of: name) ?? write.value }
        guard write.offset > 0 else { return write.value }
        guard let read else { throw ATTError.invalidOffset }
        let current = try await read(self)
        guard write.offset <= current.count else { throw ATTError.invalidOffset }
        let end = write.offset + write.value.count
        guard end <= limit else { throw ATTError.invalidAttributeValueLength }
        return current.prefix(write.offset) + write.value + current.dropFirst(end)
    }

    /// Calls a closure, for as long as the central waits and within the time limit.
    private func call<Output: Sendable>(
        _ answer: PendingAnswer?,
        by end: Ending<any Error>,
        _ server: PeripheralServer,
        _ operation: String,
        _ handle: UInt16,
        _ object: @escaping @Sendable () -> String,
        _ closure: @escaping @Sendable () async throws -> Output,
        then take: (Output) -> Void
    ) async {
        guard answer?.isOpen ?? true else { return }
        let patience = ClosureCalls.patience
        do {
            let limit = (duration: patience, error: { @Sendable () -> any Error in TooSlow() })
            take(try await ending(on: bearer.timeline, limit: limit, by: end, closure))
        } catch is TooSlow {
            guard let answer else {
                refusedUnasked(handle, server)
                return server.warnings.tell(.unanswered(handle)) { _ in
                    .unanswered(operation, object(), after: patience, byClosure: true)
                }
            }
            answer.refuse(after: patience)
        } catch let error as ATTError {
            guard let answer else { return refusedUnasked(handle, server) }
            answer.give(.failure(error))
        } catch {
            // Cancelled because the central has left or the server has ended.
            let isOver = Task.isCancelled || end.hasEnded || bearer.end != nil
            answer?.give(.failure(.unlikely))
            if answer == nil { refusedUnasked(handle, server) }
            guard !isOver else { return }
            server.warnings.tell(.closureFailed(handle)) { _ in .closureFailed(operation, object(), error) }
        }
    }
}

/// A closure has taken longer than a central may wait.
private struct TooSlow: Error {}

extension BLEError {
    fileprivate static func computedTooLong(_ count: Int, limit: Int, _ object: String) -> BLEError {
        BLEError(
            .overflow,
            operation: "read",
            object: object,
            cause: "the closure returned \(count) octets, and the characteristic takes at most \(limit)",
            remedy: "Return fewer octets, or declare the characteristic with a larger maximumLength, at most 512."
        )
    }

    /// An error thrown by a closure; the program's own errors are named by type only, since their content may be
    /// secret.
    fileprivate static func closureFailed(_ operation: String, _ object: String, _ error: any Error) -> BLEError {
        if let error = error as? BLEError, error.operation == operation, error.code == .overflow { return error }
        return BLEError(
            .attributeError,
            operation: operation,
            object: object,
            cause: "its closure threw \(type(of: error)), so the central was refused with Unlikely Error",
            remedy: "Throw an ATTError to tell a central why it is refused; catch all other errors in the closure."
        )
    }

    fileprivate static func floodOfCalls(_ object: String) -> BLEError {
        BLEError(
            .overflow,
            operation: "reads",
            object: object,
            cause: "\(Allowance.ofEach) of its reads and writes wait for closures; further ones are refused",
            remedy: "Answer faster, or drop its link with ConnectedCentral.disconnect()."
        )
    }
}
