public import BLEProtocol

extension CharacteristicAccess {
    /// What a characteristic allows: reading, each way of writing, notifications, indications.
    ///
    /// If the services are not known yet, they are discovered first.
    ///
    /// - Parameters:
    ///   - key: the characteristic; if the peripheral has several of a type, the first one.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification. A session first waits
    ///     up to this long until it is ready and free.
    /// - Throws: as ``read(_:timeout:)``.
    public func properties(
        of key: some CharacteristicKey,
        timeout: Duration? = nil
    ) async throws -> Characteristic.Properties {
        let selector = key.reference.selector
        return try await withLink(for: .read, timeout: timeout) { link in
            try await link.characteristic(selector, operation: "properties", timeout: timeout).properties
        }
    }
}
