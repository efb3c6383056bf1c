/// Writes an attribute's value in parts, which the server joins: all of it is written, or nothing.
///
/// If verified, it is the reliable write of one characteristic: the server echoes each part, and a difference ends the
/// procedure with nothing written. After any failure the server is told to discard its queue; where it may keep what
/// an earlier program has prepared, also before the first part: that would be written with this.
/// Source: Core Specification, Vol 3, Part G, 4.9.4, 4.9.5 and 4.12.3.
package struct LongWrite: GATTProcedure {
    package let handle: UInt16
    package let value: [UInt8]
    package let isVerified: Bool

    /// The beginning and the end of the part that was prepared last.
    private var part = 0..<0
    private var isFirst = true
    /// Whether the server is told to discard what an earlier program has prepared.
    private var isDiscarding = false
    private var isExecuting = false

    package var handles: [UInt16] { [handle] }

    package init(handle: UInt16, value: [UInt8], isVerified: Bool = false) {
        self.handle = handle
        self.value = value
        self.isVerified = isVerified
    }

    package mutating func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        guard value.count <= ATTLimits.maximumValueLength else {
            throw .valueTooLong(count: value.count, maximum: ATTLimits.maximumValueLength)
        }
        guard context.mayKeepWrites else { return preparePart(from: 0, context) }
        isDiscarding = true
        return .send(ATTExecuteWriteRequest(.cancel))
    }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        if isDiscarding {
            // Any other error is that of a server that keeps no writes.
            if answer.error == .databaseOutOfSync { try answer.success() }
            isDiscarding = false
            return preparePart(from: 0, context)
        }
        if isExecuting {
            _ = try answer.response(to: ATTExecuteWriteRequest.self)
            return .finished(())
        }
        try answer.success()
        if isVerified { try verify(try answer.response(to: ATTPrepareWriteRequest.self)) }
        guard part.upperBound == value.count else {
            isFirst = false
            return preparePart(from: part.upperBound, context)
        }
        isExecuting = true
        return .send(ATTExecuteWriteRequest(.write))
    }

    package func cleanUp(isSent: Bool) -> GATTRequest? {
        // An Execute that was sent has emptied the queue; a first part that was not sent has not filled it.
        let isQueueEmpty = isExecuting ? isSent : isDiscarding || isFirst && !isSent
        return isQueueEmpty ? nil : GATTRequest(ATTExecuteWriteRequest(.cancel))
    }

    private mutating func preparePart(from start: Int, _ context: GATTContext) -> GATTStep<Void> {
        part = start..<min(start + context.mtu - 5, value.count)
        return .send(ATTPrepareWriteRequest(handle: handle, offset: UInt16(clamping: start), part: value[part]))
    }

    private func verify(_ echo: ATTPrepareWriteResponse) throws(GATTFailure) {
        let isSame = echo.handle == handle && Int(echo.offset) == part.lowerBound && echo.part == value[part]
        guard isSame else { throw .mismatch(handle: handle, offset: part.lowerBound) }
    }
}
