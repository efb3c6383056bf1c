/// Writes an attribute's value without a response; ends when the radio has taken it.
///
/// Source: Core Specification, Vol 3, Part G, 4.9.1.
package struct WriteCommand: GATTProcedure {
    package static let isCommand = true

    package let handle: UInt16
    package let value: [UInt8]

    package var handles: [UInt16] { [handle] }

    /// The value has at most ATT_MTU - 3 octets when the procedure begins; otherwise it fails.
    package init(handle: UInt16, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        let maximum = min(context.mtu - 3, ATTLimits.maximumValueLength)
        guard value.count <= maximum else { throw .valueTooLong(count: value.count, maximum: maximum) }
        return .command(ATTWriteCommand(handle: handle, value: value[...]).encoded)
    }
}
