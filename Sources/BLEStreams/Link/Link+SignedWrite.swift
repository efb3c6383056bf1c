public import BLEProtocol

extension Link {
    /// Writes a characteristic without response and with a signature, by which a bonded peripheral authenticates the
    /// write on an unencrypted link. On an encrypted link the write is not signed.
    ///
    /// It returns when the radio has accepted the PDU. Source: Core Specification, Vol 3, Part G, 4.9.2.
    ///
    /// - Parameters:
    ///   - value: 0 to ``mtu`` − 15 octets; ``mtu`` − 3 on an encrypted link; 512 at most.
    ///   - key: the characteristic; if the peripheral has several of its type, the first one.
    ///   - signingKey: the key distributed during bonding.
    ///   - counter: greater than that of any earlier write signed with the key; store it with the key.
    ///   - timeout: how long to wait for discovery if the services aren't known yet.
    /// - Throws: ``BLEError/Code/notFound``, ``BLEError/Code/notSupported`` if the characteristic does not permit
    ///   signed writes, ``BLEError/Code/overflow`` if the value is too long, ``BLEError/Code/disconnected``,
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
