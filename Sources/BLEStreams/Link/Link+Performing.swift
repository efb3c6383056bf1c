import BLEProtocol
import BLERadio

/// How an operation is carried out: it waits for the link, for the discovery of what it names, and for its answer.
extension Link {
    /// A characteristic that may be used at once; `nil` if the peer must be asked, or the link may need more security.
    ///
    /// - Throws: ``BLEError/Code/notFound`` or ``BLEError/Code/servicesChanged`` if all services are known.
    func known(_ selector: CharacteristicSelector, operation: String) throws -> Characteristic? {
        do throws(LinkFailure) {
            return try bearer.known(selector)
        } catch {
            let object = "\(selector) of \(peripheral)"
            throw BLEError(error, operation: operation, object: object, target: object, security: .none)
        }
    }

    /// Finds a characteristic, without waiting if the services are known.
    package func characteristic(
        _ selector: CharacteristicSelector,
        operation: String,
        timeout: Duration?
    ) async throws -> Characteristic {
        if let known = try known(selector, operation: operation) { return known }
        return try await outcome(
            of: .find(selector),
            operation,
            OperationObject(nil, selector, peripheral.address),
            timeout
        )
    }

    /// Runs one procedure on a characteristic, which is found first and must have one of these properties.
    func perform<Procedure: GATTProcedure>(
        _ selector: CharacteristicSelector,
        _ operation: String,
        anyOf properties: Characteristic.Properties,
        _ timeout: Duration?,
        _ make: @escaping @Sendable (Characteristic) -> Procedure
    ) async throws -> Procedure.Success {
        try await outcome(
            of: .characteristic(selector, anyOf: properties, make),
            operation,
            OperationObject(.of, selector, peripheral.address),
            timeout
        )
    }

    /// Runs one procedure that names attributes by their handles, or names none.
    func perform<Procedure: GATTProcedure>(
        _ procedure: Procedure,
        operation: String,
        object: OperationObject,
        timeout: Duration?
    ) async throws -> Procedure.Success {
        try await outcome(of: .handles(procedure), operation, object, timeout)
    }

    /// Begins an operation when the link is free for it. Exactly one outcome follows, unless the returned closure is
    /// called first. For operations that nobody awaits; see ``outcome(of:_:_:_:)``.
    func start<Success: Sendable>(
        _ target: LinkMachine.Target,
        operation: String,
        object: OperationObject,
        finish: @escaping @Sendable (Result<Success, BLEError>) -> Void
    ) -> @Sendable () -> Void {
        let (bearer, isFound) = (bearer, target.isFound)
        let caller = OperationCallback(answers: whoAnswers) { outcome in
            finish(
                outcome.typed().mapError { failure in
                    BLEError(
                        failure,
                        operation: operation,
                        object: "\(object)",
                        target: "\(isFound ? object.target : object)",
                        security: bearer.radioLink.security
                    )
                }
            )
        }
        bearer.begin(target, pass: pass, for: caller)
        return { bearer.cancel(caller) }
    }

    /// Begins an operation when the link is free for it, and waits for the outcome.
    func outcome<Success: Sendable>(
        of target: LinkMachine.Target,
        _ operation: String,
        _ object: OperationObject,
        _ timeout: Duration?
    ) async throws -> Success {
        let wait = try wait(for: operation, object, isFound: target.isFound)
        let success = try await wait.success(of: target, within: timeout)
        guard let value = success.value(as: Success.self) else { throw wait.error(.procedure(.cancelled)) }
        return value
    }
}
