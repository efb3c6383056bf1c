import BLEProtocol
import BLERadio

extension Link: CharacteristicAccess {
    /// Runs the closure with this link. See ``CharacteristicAccess``.
    @inlinable
    public func withLink<Output: Sendable>(
        for operation: CharacteristicOperation,
        timeout: Duration?,
        _ body: (Link) async throws -> Output
    ) async throws -> Output { try await body(self) }

    /// Reads a value; one named by its handle without discovery, and without checking its properties.
    @usableFromInline
    func octets(of selector: CharacteristicSelector, _ timeout: Duration?) async throws -> CharacteristicValue {
        let octets: [UInt8]
        if case .handle(let handle) = selector {
            octets = try await perform(
                ReadValue(handle: handle),
                operation: "read",
                object: OperationObject(.of, selector, peripheral.address),
                timeout: timeout
            )
        } else {
            octets = try await perform(selector, "read", anyOf: .read, timeout) { ReadValue(handle: $0.valueHandle) }
        }
        return CharacteristicValue(bytes: octets[...], time: timeline.wallTime)
    }
}
