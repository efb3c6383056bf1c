extension CharacteristicAccess {
    /// Writes octets to a characteristic, whatever type its value has.
    ///
    /// ```swift
    /// try await link.write([0x01], to: BluetoothUUID(0xFFF1), .withoutResponse)
    /// ```
    ///
    /// - Parameters:
    ///   - octets: 0 to 512 of them; without response at most ``Link/maximumWriteLength(for:)``.
    ///   - key: the characteristic; where the peripheral has several of a type, the first one is meant.
    ///   - kind: with response unless said otherwise. Without, it returns when the radio has taken the octets, so a loop keeps
    ///     the link full and no fuller.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification. A session waits as long,
    ///     first, until it is ready.
    /// - Throws: ``BLEError/Code/notFound``, ``BLEError/Code/notSupported`` when the characteristic can't be written
    ///   that way, ``BLEError/Code/overflow`` when the value is too long, ``BLEError/Code/attributeError``,
    ///   ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``, `CancellationError`; why a session failed, as far as it
    ///   has. Whether a value was written whose link was lost meanwhile nobody knows; nothing is written a second time by itself.
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

    /// Writes a value to a characteristic whose value has that type. See ``write(_:to:_:timeout:)``.
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

    /// Writes a value that is octets itself, as a value of the characteristic's type. See ``write(_:to:_:timeout:)``.
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
