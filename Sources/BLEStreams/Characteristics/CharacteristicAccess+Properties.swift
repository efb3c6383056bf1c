public import BLEProtocol

extension CharacteristicAccess {
    /// What a characteristic can do: be read, be written in which ways, notify, indicate.
    ///
    /// Services are discovered first where they aren't known yet.
    ///
    /// - Parameters:
    ///   - key: the characteristic; where the peripheral has several of a type, the first one is meant.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification. A session waits as long,
    ///     first, until it is ready.
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
