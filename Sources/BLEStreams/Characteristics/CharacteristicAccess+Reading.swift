extension CharacteristicAccess {
    /// Reads a characteristic; a long value is read to its end (512 octets at most).
    ///
    /// ```swift
    /// let charge = try await link.read(.batteryLevel)
    /// let octets = try await session.read(BluetoothUUID(0xFFF1), timeout: .seconds(5))
    /// ```
    ///
    /// - Parameters:
    ///   - key: the characteristic; where the peripheral has several of a type, the first one is meant.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification. A session waits as long,
    ///     first, until it is ready.
    /// - Returns: what its octets stand for.
    /// - Throws: ``BLEError/Code/notFound``, ``BLEError/Code/attributeError``, ``BLEError/Code/disconnected``,
    ///   ``BLEError/Code/timedOut``; ``BLEError/Code/malformedValue`` where the key has a type;
    ///   ``BLEError/Code/servicesChanged`` for a discovered characteristic that the peripheral doesn't have like this any
    ///   more; why a session failed, as far as it has; `CancellationError`. When the link is lost nothing is read a second
    ///   time by itself.
    @inlinable
    public func read<Key: CharacteristicKey>(_ key: Key, timeout: Duration? = nil) async throws -> Key.Value {
        let selector = key.reference.selector
        let octets = try await withLink(for: .read, timeout: timeout) { link in
            try await link.octets(of: selector, timeout)
        }
        return try key.value(of: octets, during: "read")
    }
}
