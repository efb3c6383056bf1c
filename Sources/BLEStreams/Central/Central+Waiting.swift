import BLEProtocol
import BLERadio

extension Central {
    /// Opens an adapter for the central role once it is on: for a program that starts at boot, before the adapters are
    /// ready.
    ///
    /// ```swift
    /// let central = try await Central.open(waitingFor: .seconds(60))
    /// let patient = try await Central.open(.adapter("hci1"), waitingFor: nil)
    /// ```
    ///
    /// It waits, on the radio's clock, for an adapter that is absent, switched off, blocked or starting. If no adapter
    /// is chosen, it opens the first one that is on, otherwise the first one present or the first to appear. It
    /// switches nothing on.
    ///
    /// - Parameters:
    ///   - choice: which adapter; by default the first one that is switched on.
    ///   - store: where bonds and other knowledge of peers are kept; as in
    ///     ``open(_:store:parameters:pairing:recovery:)``.
    ///   - parameters: the parameters of its links, as there.
    ///   - pairing: who answers when an operation needs a more secure link, as there.
    ///   - recovery: what to do about an adapter that doesn't work, as there.
    ///   - timeout: how long to wait; `nil`: for as long as it takes.
    /// - Throws: the error of the adapter's state when the time is over,
    ///   with ``BLEError/elapsed``; immediately if waiting can't help (``AdapterInfo/State/isFinal``,
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
            core: CentralCore(
                radio: radio,
                store: store,
                parameters: parameters,
                pairing: pairing,
                recovery: recovery,
                events: choice.events
            )
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
            // It is on since.
            ?? BLEError(
                .timedOut,
                operation: operation,
                object: info.name,
                cause: "the adapter was not on within \(limit)",
                remedy: "Try again."
            )
        error.elapsed = limit
        return error
    }
}
