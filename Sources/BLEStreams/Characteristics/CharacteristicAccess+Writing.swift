extension CharacteristicAccess {
    /// Writes octets to a characteristic, whatever the type of its value.
    ///
    /// ```swift
    /// try await link.write([0x01], to: BluetoothUUID(0xFFF1), .withoutResponse)
    /// ```
    ///
    /// - Parameters:
    ///   - octets: 0 to 512 octets; without response, at most ``Link/maximumWriteLength(for:)``.
    ///   - key: the characteristic; if the peripheral has several of a type, the first one.
    ///   - kind: with response by default. A write without response returns when the radio has taken the octets, so a
    ///     loop keeps the link full but never overfills it.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification. A session first waits
    ///     up to this long until it is ready and free.
    /// - Throws: ``BLEError/Code/notFound``, ``BLEError/Code/notSupported`` if the characteristic can't be written in
    ///   this way, ``BLEError/Code/overflow`` if the value is too long, ``BLEError/Code/attributeError``,
    ///   ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``, `CancellationError`;
    ///   ``BLEError/Code/servicesChanged`` as a read; the error of a session that has failed. If the link is lost
    ///   meanwhile, it is unknown whether the value was written; the write isn't repeated.
    @inlinable
    public func write(
        _ octets: some Collection<UInt8>,
        to key: some CharacteristicKey,
        _ kind: Link.WriteKind = .withResponse,
        timeout: Duration? = nil
    ) async throws {
        let (octets, selector) = (Array(octets), key.reference.selector)
        try await withLink(for: .write, timeout: timeout) { link in
            try await link.write(octets, selector, kind, timeout)
        }
    }

    /// Writes a value of the characteristic's type. See ``write(_:to:_:timeout:)``.
    ///
    /// - Throws: as there, and as ``CharacteristicKey/octets(of:)``.
    @inlinable
    public func write<Key: CharacteristicKey>(
        _ value: Key.Value,
        to key: Key,
        _ kind: Link.WriteKind = .withResponse,
        timeout: Duration? = nil
    ) async throws {
        try await write(try key.octets(of: value, during: "write"), to: key.reference, kind, timeout: timeout)
    }

    /// Writes a value that itself consists of octets, as a value of the characteristic's type. See
    /// ``write(_:to:_:timeout:)``.
    @inlinable
    public func write<Key: CharacteristicKey>(
        _ value: Key.Value,
        to key: Key,
        _ kind: Link.WriteKind = .withResponse,
        timeout: Duration? = nil
    ) async throws where Key.Value: Collection<UInt8> {
        try await write(try key.octets(of: value, during: "write"), to: key.reference, kind, timeout: timeout)
    }
}
