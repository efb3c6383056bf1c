public import BLEProtocol
import BLERadio

extension CharacteristicAccess {
    /// Reads a characteristic's first descriptor of a type; descriptors of the Generic Attribute Profile are decoded.
    ///
    /// ```swift
    /// let text = try await link.read(descriptor: .characteristicUserDescription, of: .batteryLevel)
    /// ```
    ///
    /// - Parameters:
    ///   - uuid: the descriptor's type.
    ///   - key: the characteristic.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification. A session first waits
    ///     up to this long until it is ready and free.
    /// - Throws: as ``read(_:timeout:)``, and ``BLEError/Code/notFound`` if there is no such characteristic or
    ///   descriptor.
    public func read(
        descriptor uuid: BluetoothUUID,
        of key: some CharacteristicKey,
        timeout: Duration? = nil
    ) async throws -> Descriptor.Value {
        let selector = key.reference.selector
        return try await withLink(for: .read, timeout: timeout) { link in
            let deadline = timeout.map { link.timeline.now + $0 }
            let descriptor = try await link.descriptor(uuid, of: selector, "read", timeout)
            return try await link.read(descriptor, timeout: deadline.map { $0 - link.timeline.now })
        }
    }

    /// Writes a characteristic's first descriptor of a type, such as a user description.
    ///
    /// The streams write the Client Characteristic Configuration:
    /// ``notifications(of:indications:buffer:)->BLEStream<Key.Value>``.
    ///
    /// - Parameters:
    ///   - octets: 0 to 512 octets.
    ///   - uuid: the descriptor's type.
    ///   - key: the characteristic.
    ///   - timeout: how long to wait; as for ``read(descriptor:of:timeout:)``.
    /// - Throws: as ``write(_:to:_:timeout:)-(Collection<UInt8>,_,_,_)``, and ``BLEError/Code/notFound`` if there is no
    ///   such characteristic or descriptor.
    public func write(
        _ octets: some Collection<UInt8>,
        toDescriptor uuid: BluetoothUUID,
        of key: some CharacteristicKey,
        timeout: Duration? = nil
    ) async throws {
        let (octets, selector) = (Array(octets), key.reference.selector)
        try await withLink(for: .write, timeout: timeout) { link in
            let deadline = timeout.map { link.timeline.now + $0 }
            let descriptor = try await link.descriptor(uuid, of: selector, "write", timeout)
            try await link.write(octets, to: descriptor, timeout: deadline.map { $0 - link.timeline.now })
        }
    }
}

extension Link {
    fileprivate func descriptor(
        _ uuid: BluetoothUUID,
        of selector: CharacteristicSelector,
        _ operation: String,
        _ timeout: Duration?
    ) async throws -> Descriptor {
        let found = try await characteristic(selector, operation: operation, timeout: timeout)
        guard let descriptor = found.descriptor(uuid) else {
            throw BLEError(
                .notFound,
                operation: operation,
                object: "descriptor \(uuid) of \(selector) of \(peripheral)",
                cause: "the characteristic has no such descriptor",
                remedy: "List its services with Link.discover()."
            )
        }
        return descriptor
    }
}
