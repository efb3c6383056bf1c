/// Enables notifications or indications, or disables both: writes a Client Characteristic Configuration descriptor.
///
/// Values may arrive before the procedure has ended.
/// Source: Core Specification, Vol 3, Part G, 3.3.3.3, 4.10 and 4.11.
package struct SetNotification: GATTProcedure {
    /// What the server does when the value changes; the descriptor's value.
    package enum Mode: UInt16, Hashable, Sendable {
        case off = 0x0000
        case notify = 0x0001
        case indicate = 0x0002
    }

    /// The descriptor's handle.
    package let handle: UInt16
    package let mode: Mode

    package var handles: [UInt16] { [handle] }

    package init(handle: UInt16, _ mode: Mode) {
        self.handle = handle
        self.mode = mode
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        .send(ATTWriteRequest(handle: handle, value: [UInt8(truncatingIfNeeded: mode.rawValue), 0]))
    }

    package func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        _ = try answer.response(to: ATTWriteRequest.self)
        return .finished(())
    }
}
