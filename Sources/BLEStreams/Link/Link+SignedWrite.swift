public import BLEProtocol

extension Link {
    /// Writes a characteristic without an answer, signed, so that a bonded peripheral knows who it was though the link
    /// is not encrypted. On an encrypted link the write goes without a signature.
    ///
    /// Returns when the radio has taken the PDU. Source: Core Specification, Vol 3, Part G, 4.9.2.
    ///
    /// - Parameters:
    ///   - value: 0 to ``mtu`` − 15 octets; ``mtu`` − 3 on an encrypted link; 512 at most.
    ///   - key: the characteristic; where the peripheral has several of a type, the first one is meant.
    ///   - signingKey: the key that was handed over while bonding.
    ///   - counter: greater than with any write before that was signed with the key: keep it beside the key.
    ///   - timeout: how long to wait for discovery where the services aren't known yet.
    /// - Throws: ``BLEError/Code/notFound``, ``BLEError/Code/notSupported`` when the characteristic takes no signed
    ///   writes, ``BLEError/Code/overflow`` when the value is too long, ``BLEError/Code/disconnected``,
    ///   ``BLEError/Code/timedOut``, `CancellationError`.
    public func write(
        _ value: some Collection<UInt8>,
        to key: some CharacteristicKey,
        signedWith signingKey: SigningKey,
        counter: UInt32,
        timeout: Duration? = nil
    ) async throws {
        try await write(Array(value), key.reference.selector, signingKey, counter, timeout)
    }

    private func write(
        _ value: [UInt8],
        _ selector: CharacteristicSelector,
        _ key: SigningKey,
        _ counter: UInt32,
        _ timeout: Duration?
    ) async throws {
        let isEncrypted = security.isEncrypted
        let needed: Characteristic.Properties =
            isEncrypted ? [.authenticatedSignedWrites, .writeWithoutResponse] : .authenticatedSignedWrites
        let limit = isEncrypted ? maximumWriteLength(for: .withoutResponse) : min(mtu - 15, 512)
        try checkLength(of: value, limit, OperationObject(.to, selector, peripheral.address))
        try await perform(selector, "write", anyOf: needed, timeout) { characteristic in
            SignedWrite(
                handle: characteristic.valueHandle,
                value: value,
                key: key,
                counter: counter,
                isLinkEncrypted: isEncrypted
            )
        }
    }
}
