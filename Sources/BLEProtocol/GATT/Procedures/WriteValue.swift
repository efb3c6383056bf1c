/// Writes an attribute's value with a response; as a long write if the value doesn't fit into one request.
///
/// Source: Core Specification, Vol 3, Part G, 4.9.3, 4.9.4 and 4.12.3.
package struct WriteValue: GATTProcedure {
    package let handle: UInt16
    package let value: [UInt8]

    private var long: LongWrite?

    package var handles: [UInt16] { [handle] }

    package init(handle: UInt16, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }

    package mutating func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        let isLong = value.count > min(context.mtu - 3, ATTLimits.maximumValueLength)
        guard isLong else {
            return .send(ATTWriteRequest(handle: handle, value: value[...]))
        }
        var write = LongWrite(handle: handle, value: value)
        let step = try write.start(context)
        long = write
        return step
    }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        if long != nil, let step = try long?.received(answer, context) { return step }
        _ = try answer.response(to: ATTWriteRequest.self)
        return .finished(())
    }

    package func cleanUp(isSent: Bool) -> GATTRequest? { long?.cleanUp(isSent: isSent) }
}
