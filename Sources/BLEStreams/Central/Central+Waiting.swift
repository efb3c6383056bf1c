import BLEProtocol
import BLERadio

extension Central {
    /// Opens an adapter for the central role once it is on: for a program that is started when the machine is, before its
    /// adapters are there.
    ///
    /// ```swift
    /// let central = try await Central.open(waitingFor: .seconds(60))
    /// let patient = try await Central.open(.adapter("hci1"), waitingFor: nil)
    /// ```
    ///
    /// An adapter that is absent, switched off, blocked or starting is waited for, on the radio's clock; where none was
    /// chosen it is the first one that is on, or else the first that there is or that turns up. Nothing is switched on.
    ///
    /// - Parameters:
    ///   - choice: which adapter; the first one that is switched on unless told otherwise.
    ///   - store: where bonds and what else is known of peers are kept; as in ``open(_:store:parameters:pairing:recovery:)``.
    ///   - parameters: what its links are to be like, as there.
    ///   - pairing: who answers when an operation needs a more secure link, as there.
    ///   - recovery: what is done about an adapter that doesn't do its work, as there.
    ///   - timeout: how long to wait; `nil`: for as long as it takes.
    /// - Throws: the error of the adapter's state when the time is over, see ``AdapterState/error(operation:object:)``, with
    ///   ``BLEError/elapsed``; at once where waiting is of no use (``AdapterState/isFinal``,
    ///   ``BLEError/Code/unsupportedSystem``); `CancellationError`.
    public static func open(
        _ choice: AdapterChoice = .default,
        store: PeerStore? = nil,
        parameters: ConnectionParameters? = nil,
        pairing: PairingAnswers? = nil,
        recovery: RecoveryPlan = RecoveryPlan(),
        waitingFor timeout: Duration?
    ) async throws -> Central {
        let store = store ?? (choice.isOfThisMachine ? .standard : .inMemory())
        let radio = try choice.awaitRadio()
        try await radio.waitUntilOn(timeout, operation: "open")
        return Central(
            core: CentralCore(radio: radio, store: store, parameters: parameters, pairing: pairing, recovery: recovery)
        )
    }
}

extension Radio {
    /// Waits until the adapter is on.
    func waitUntilOn(_ timeout: Duration?, operation: String) async throws {
        let limit: (Duration, @Sendable () -> any Error)? = timeout.map { limit in
            (limit, { self.whyStillOff(after: limit, operation) })
        }
        try await reply(on: timeline, limit: limit) { finish in
            let activity = self.observeAdapter { info in
                if info.state == .poweredOn { return finish(.success(())) }
                if info.state.isFinal, let error = info.state.error(operation: operation, object: info.name) {
                    finish(.failure(error))
                }
            }
            return { activity.cancel() }
        }
    }

    private func whyStillOff(after limit: Duration, _ operation: String) -> BLEError {
        let info = adapterInfo
        var error =
            info.state.error(operation: operation, object: info.name)
            ?? .timedOut(
                operation,
                object: info.name,
                after: limit,
                waitingFor: "the adapter did not say that it is on"
            )
        error.elapsed = limit
        return error
    }
}
