import BLEProtocol
import BLERadio

/// How an operation is carried out: it waits for the link, for what it names to be found, and for its answer.
extension Link {
    /// Begins an operation when the link is free for it; exactly one outcome comes, unless the returned closure is called
    /// before.
    func start<Success: Sendable>(
        _ target: LinkMachine.Target,
        operation: String,
        object: @escaping @autoclosure @Sendable () -> String,
        finish: @escaping @Sendable (Result<Success, BLEError>) -> Void
    ) -> @Sendable () -> Void {
        let (bearer, address) = (bearer, peripheral.address)
        let words: @Sendable (LinkFailure) -> BLEError = { failure in
            BLEError(
                failure,
                operation: operation,
                object: object(),
                target: target.selector.map { "\($0) of \(address)" } ?? object(),
                security: bearer.radioLink.security
            )
        }
        let answers: Bearer.Answers = { self.answers }
        let id = bearer.begin(target, pass: pass, answers: answers) { result in
            switch result {
            case .success(let value as Success): finish(.success(value))
            case .success: finish(.failure(words(.procedure(.cancelled))))
            case .failure(let failure): finish(.failure(words(failure)))
            }
        }
        return { bearer.cancel(id) }
    }

    func start<Success: Sendable>(
        _ target: LinkMachine.Target,
        operation: String,
        object: OperationObject,
        finish: @escaping @Sendable (Result<Success, BLEError>) -> Void
    ) -> @Sendable () -> Void {
        start(target, operation: operation, object: "\(object)", finish: finish)
    }

    /// A characteristic that may be used at once; `nil` where the peer must be asked, or the link may have to be more secure.
    ///
    /// - Throws: ``BLEError/Code/notFound`` or ``BLEError/Code/servicesChanged`` where everything is known.
    func known(_ selector: CharacteristicSelector, operation: String) throws -> Characteristic? {
        do throws(LinkFailure) {
            return try bearer.known(selector)
        } catch {
            let object = "\(selector) of \(peripheral)"
            throw BLEError(error, operation: operation, object: object, target: object, security: .none)
        }
    }

    /// Finds a characteristic; without waiting once the services are known.
    package func characteristic(
        _ selector: CharacteristicSelector,
        operation: String,
        timeout: Duration?
    ) async throws -> Characteristic {
        if let known = try known(selector, operation: operation) { return known }
        let object = OperationObject(nil, selector, peripheral.address)
        return try await waitFor(operation: operation, object: object, timeout: timeout) { finish in
            start(.find(selector), operation: operation, object: object, finish: finish)
        }
    }

    /// Runs one procedure on a characteristic, which is found first and must have one of these properties.
    func perform<Procedure: GATTProcedure>(
        _ selector: CharacteristicSelector,
        _ operation: String,
        anyOf properties: Characteristic.Properties,
        _ timeout: Duration?,
        _ make: @escaping @Sendable (Characteristic) -> Procedure
    ) async throws -> Procedure.Success {
        let object = OperationObject(.of, selector, peripheral.address)
        return try await waitFor(operation: operation, object: object, timeout: timeout) { finish in
            let target = LinkMachine.Target.characteristic(selector, anyOf: properties, make)
            return start(target, operation: operation, object: object, finish: finish)
        }
    }

    /// Runs one procedure that names what it needs by handles, or needs none.
    func perform<Procedure: GATTProcedure>(
        _ procedure: Procedure,
        operation: String,
        object: OperationObject,
        timeout: Duration?
    ) async throws -> Procedure.Success {
        try await waitFor(operation: operation, object: object, timeout: timeout) { finish in
            start(.handles(procedure), operation: operation, object: object, finish: finish)
        }
    }

    func waitFor<Success: Sendable>(
        operation: String,
        object: OperationObject,
        timeout: Duration?,
        start: (@escaping @Sendable (Result<Success, BLEError>) -> Void) -> @Sendable () -> Void
    ) async throws -> Success {
        if let end = bearer.end { throw BLEError.linkEnded(end, operation: operation, object: "\(object)") }
        if bearer.wouldWaitForItself(with: pass) { throw BLEError.waitingForItself(operation, "\(object)") }
        let limit = timeout.map { timeout -> (Duration, @Sendable () -> any Error) in
            (
                timeout,
                { BLEError.timedOut(operation, object: "\(object)", after: timeout, waitingFor: "no answer came") }
            )
        }
        return try await reply(on: timeline, limit: limit) { finish in
            start { finish($0.mapError { $0 as any Error }) }
        }
    }
}

extension LinkMachine.Target {
    /// What is looked for.
    fileprivate var selector: CharacteristicSelector? {
        switch self {
        case .characteristic(let selector, _, _), .find(let selector): selector
        default: nil
        }
    }
}
