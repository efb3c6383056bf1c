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

    /// Reads a value. A characteristic named by its handle is read without discovery, and its properties aren't
    /// checked.
    @usableFromInline
    func octets(of selector: CharacteristicSelector, _ timeout: Duration?) async throws -> CharacteristicValue {
        let (target, isFound): (LinkMachine.Target, Bool) =
            if case .handle(let handle) = selector {
                (.handles(ReadValue(handle: handle)), false)
            } else {
                (.characteristic(selector, anyOf: .read) { ReadValue(handle: $0.valueHandle) }, true)
            }
        // Without the generic path of other operations: the type of the result is known here.
        let object = OperationObject(.of, selector, peripheral.address)
        let wait = try wait(for: "read", object, isFound: isFound)
        guard case .octets(let octets) = try await wait.success(of: target, within: timeout) else {
            throw wait.error(.procedure(.cancelled))
        }
        return CharacteristicValue(bytes: octets, time: bearer.timeline.wallTime)
    }
}
