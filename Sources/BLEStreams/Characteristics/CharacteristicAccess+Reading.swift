extension CharacteristicAccess {
    /// Reads a characteristic; a long value is read to its end, at most 512 octets.
    ///
    /// ```swift
    /// let charge = try await link.read(.batteryLevel)
    /// let octets = try await session.read(BluetoothUUID(0xFFF1), timeout: .seconds(5))
    /// ```
    ///
    /// - Parameters:
    ///   - key: the characteristic; if the peripheral has several of a type, the first one.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification. A session first waits
    ///     up to this long until it is ready and free.
    /// - Returns: the value, decoded if the key has a type.
    /// - Throws: ``BLEError/Code/notFound``, ``BLEError/Code/attributeError``, ``BLEError/Code/disconnected``,
    ///   ``BLEError/Code/timedOut``; ``BLEError/Code/malformedValue`` if the key has a type;
    ///   ``BLEError/Code/servicesChanged`` for a discovered characteristic that the peripheral no longer has in this
    ///   form, and of a peripheral whose services change faster than they can be discovered; the error of a session
    ///   that has failed; `CancellationError`. If the link is lost, the read isn't repeated.
    @inlinable
    public func read<Key: CharacteristicKey>(_ key: Key, timeout: Duration? = nil) async throws -> Key.Value {
        let selector = key.reference.selector
        let octets = try await withLink(for: .read, timeout: timeout) { link in
            try await link.octets(of: selector, timeout)
        }
        return try key.value(of: octets, during: "read")
    }
}
