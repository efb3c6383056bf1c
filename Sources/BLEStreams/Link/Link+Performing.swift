import BLEProtocol
import BLERadio

/// How an operation is carried out: it waits for the link, for what it names to be found, and for its answer.
extension Link {
    /// Finds a characteristic; without waiting once the services are known.
    func characteristic(
        _ selector: CharacteristicSelector,
        operation: String,
        timeout: Duration?
    ) async throws -> Characteristic {
        if let known = try attributes.knownCharacteristic(selector, operation: operation) { return known }
        let object = OperationObject(nil, selector, peripheral.address)
        return try await waitFor(operation: operation, object: object, timeout: timeout) { finish in
            let (attributes, whoAnswers, waiting) = (attributes, whoAnswers, Ending<Void>())
            let place = lane.enter(pass) { place in
                let leave = attributes.characteristic(selector, operation: operation, answers: whoAnswers) { found in
                    place.leave()
                    finish(found)
                }
                if let leave { waiting.undo(leave) }
            }
            return {
                waiting.end()
                place.leave()
            }
        }
    }

    /// Runs one procedure on a characteristic, which is found first and must have one of these properties.
    func perform<Procedure: GATTProcedure>(
        _ selector: CharacteristicSelector,
        _ operation: String,
        anyOf properties: CharacteristicProperties,
        _ timeout: Duration?,
        _ make: @escaping @Sendable (Characteristic) -> Procedure
    ) async throws -> Procedure.Success {
        let object = OperationObject(.of, selector, peripheral.address)
        return try await waitFor(operation: operation, object: object, timeout: timeout) { finish in
            AttributeOperation.start(
                on: self,
                .characteristic(selector, anyOf: properties, make),
                operation: operation,
                object: object,
                finish: finish
            )
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
            AttributeOperation.start(
                on: self,
                .handles(procedure),
                operation: operation,
                object: object,
                finish: finish
            )
        }
    }

    func waitFor<Success: Sendable>(
        operation: String,
        object: OperationObject,
        timeout: Duration?,
        start: (@escaping @Sendable (Result<Success, BLEError>) -> Void) -> @Sendable () -> Void
    ) async throws -> Success {
        if let end = bearer.end { throw BLEError.linkEnded(end, operation: operation, object: "\(object)") }
        if lane.wouldWaitForItself(with: pass) { throw BLEError.waitingForItself(operation, "\(object)") }
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
