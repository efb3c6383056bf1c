public import BLEProtocol
import BLERadio

extension Link {
    /// Reads a descriptor and decodes it where its type is one of the Generic Attribute Profile's.
    ///
    /// - Parameters:
    ///   - descriptor: one that ``discover(timeout:)`` found; several of one type are told apart by their handles.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification.
    /// - Throws: ``BLEError/Code/attributeError``, ``BLEError/Code/servicesChanged``, ``BLEError/Code/disconnected``,
    ///   ``BLEError/Code/timedOut``, `CancellationError`.
    public func read(_ descriptor: Descriptor, timeout: Duration? = nil) async throws -> DescriptorValue {
        try check(descriptor, operation: "read")
        let value = try await read(handle: descriptor.handle, timeout: timeout)
        return DescriptorValue(descriptor.uuid, octets: value)
    }

    /// Reads the first descriptor of a type of a characteristic. See ``read(_:timeout:)-(Descriptor,_)``.
    ///
    /// - Throws: as there, and ``BLEError/Code/notFound`` where there is no such characteristic or descriptor.
    public func read(
        descriptor uuid: BluetoothUUID,
        of characteristic: BluetoothUUID,
        in service: BluetoothUUID? = nil,
        timeout: Duration? = nil
    ) async throws -> DescriptorValue {
        let selector = CharacteristicSelector.uuid(characteristic, service: service)
        let deadline = timeout.map { timeline.now + $0 }
        let found = try await self.characteristic(selector, operation: "read", timeout: timeout)
        guard let descriptor = found.descriptor(uuid) else {
            throw BLEError(
                .notFound,
                operation: "read",
                object: "descriptor \(uuid) of \(selector) of \(peripheral)",
                cause: "the characteristic has no such descriptor",
                remedy: "List what it has with Link.discover()."
            )
        }
        return try await read(descriptor, timeout: deadline.map { $0 - timeline.now })
    }

    /// Writes a descriptor, such as a user description.
    ///
    /// The Client Characteristic Configuration is written by the streams: ``notifications(of:in:indications:buffer:)``.
    ///
    /// - Parameter value: 0 to 512 octets.
    /// - Throws: as ``write(_:toHandle:_:timeout:)``.
    public func write(
        _ value: some Collection<UInt8>,
        to descriptor: Descriptor,
        timeout: Duration? = nil
    ) async throws {
        try check(descriptor, operation: "write")
        try await write(value, toHandle: descriptor.handle, timeout: timeout)
    }

    /// Refuses a descriptor of which it is known that the peripheral has it no more.
    private func check(_ descriptor: Descriptor, operation: String) throws {
        guard let database = bearer.knownDatabase, database.descriptor(handle: descriptor.handle) != descriptor
        else {
            return
        }
        throw BLEError.servicesChanged(operation, "descriptor \(descriptor.uuid) of \(peripheral)")
    }
}
