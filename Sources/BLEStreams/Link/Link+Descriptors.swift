public import BLEProtocol

extension Link {
    /// Reads a descriptor, and decodes it if its type is defined by the Generic Attribute Profile.
    ///
    /// - Parameters:
    ///   - descriptor: a descriptor from ``discover(timeout:)``; its handle identifies it.
    ///   - timeout: how long to wait; without it, the 30 s of the specification for each request.
    /// - Throws: ``BLEError/Code/attributeError``, ``BLEError/Code/servicesChanged``, ``BLEError/Code/disconnected``,
    ///   ``BLEError/Code/timedOut``, `CancellationError`.
    public func read(_ descriptor: Descriptor, timeout: Duration? = nil) async throws -> Descriptor.Value {
        try check(descriptor, operation: "read")
        let value = try await read(.handle(descriptor.handle), timeout: timeout)
        return Descriptor.Value(descriptor.uuid, octets: value)
    }

    /// Writes a descriptor, such as a user description.
    ///
    /// The Client Characteristic Configuration is written by the streams:
    /// ``CharacteristicAccess/notifications(of:indications:buffer:)->BLEStream<Key.Value>``.
    ///
    /// - Parameters:
    ///   - value: 0 to 512 octets.
    ///   - descriptor: one that was discovered on this link.
    ///   - timeout: how long it may take; without it the request has the 30 s of the specification.
    /// - Throws: as ``CharacteristicAccess/write(_:to:_:timeout:)-(Collection<UInt8>,_,_,_)``.
    public func write(
        _ value: some Collection<UInt8>,
        to descriptor: Descriptor,
        timeout: Duration? = nil
    ) async throws {
        try check(descriptor, operation: "write")
        try await write(value, to: .handle(descriptor.handle), timeout: timeout)
    }

    /// Refuses a descriptor that the peripheral is known to have no longer.
    private func check(_ descriptor: Descriptor, operation: String) throws {
        guard let database = bearer.knownDatabase, database.descriptor(handle: descriptor.handle) != descriptor
        else {
            return
        }
        throw BLEError.servicesChanged(operation, "descriptor \(descriptor.uuid) of \(peripheral)")
    }
}
