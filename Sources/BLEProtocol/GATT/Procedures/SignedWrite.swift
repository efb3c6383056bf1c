/// Writes an attribute's value without a response, with a signature by which the server knows the writer; ends when the
/// radio has taken it.
///
/// On an encrypted link the server knows the writer anyway, and the write has no signature.
/// Source: Core Specification, Vol 3, Part G, 4.9.2, and Part C, 10.4.
package struct SignedWrite: GATTProcedure {
    package static let isCommand = true

    package let handle: UInt16
    package let value: [UInt8]

    private let key: SigningKey
    private let counter: UInt32
    private let isLinkEncrypted: Bool

    package var handles: [UInt16] { [handle] }

    /// - Parameters:
    ///   - value: at most ATT_MTU - 15 octets, or ATT_MTU - 3 if the link is encrypted, when the procedure begins;
    ///     otherwise it fails.
    ///   - counter: greater than that of any earlier write with the same key.
    package init(handle: UInt16, value: [UInt8], key: SigningKey, counter: UInt32, isLinkEncrypted: Bool) {
        self.handle = handle
        self.value = value
        self.key = key
        self.counter = counter
        self.isLinkEncrypted = isLinkEncrypted
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        if isLinkEncrypted { return try WriteCommand(handle: handle, value: value).start(context) }
        let maximum = min(context.mtu - 3 - ATTSignedWriteCommand.signatureLength, ATTLimits.maximumValueLength)
        guard value.count <= maximum else { throw .valueTooLong(count: value.count, maximum: maximum) }
        var message = ByteWriter(capacity: 3 + value.count)
        message.uint8(ATTSignedWriteCommand.opcode.rawValue)
        message.uint16(handle)
        message.append(value)
        let signature = key.signature(of: message.bytes, counter: counter)
        return .command(
            ATTSignedWriteCommand(handle: handle, value: value[...], signature: signature[...]).encoded
        )
    }
}
