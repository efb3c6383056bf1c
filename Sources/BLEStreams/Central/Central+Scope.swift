import BLEProtocol
import BLERadio

extension Central {
    /// Opens an adapter, runs the closure with it, and cleans up: on return, on throw and on cancellation.
    ///
    /// ```swift
    /// try await Central.with { central in
    ///     let sensor = try await central.scan(for: .service(.heartRate)).timeout(.seconds(10)).first().peripheral
    ///     for try await beat in sensor.stream({ $0.notifications(of: .heartRateMeasurement) }) { print(beat) }
    /// }
    /// exit(0)
    /// ```
    ///
    /// When a stream ends, its link goes down in the background, and what was learned of a peripheral is written to
    /// disk a moment later; a request cancelled while the kernel was still working on it is undone when the kernel
    /// answers; and an adapter may be off for a moment. A program that exits at once would cut this short. This
    /// function therefore waits until no link of the central is up and the kernel has answered, for five seconds at
    /// most each, and until the files of its store are written. Cancellation doesn't shorten the wait. The answers of
    /// ``Peripheral/allowPairing(_:)`` are forgotten then.
    ///
    /// - Parameters:
    ///   - choice: which adapter; by default the first one that is switched on.
    ///   - store: where bonds and other knowledge of peers are kept; as in
    ///     ``open(_:store:parameters:pairing:recovery:)``.
    ///   - parameters: the parameters of its links, as there.
    ///   - pairing: who answers when an operation needs a more secure link, as there.
    ///   - recovery: what to do about an adapter that doesn't work, as there.
    ///   - body: what to do with the central.
    /// - Returns: what the closure returns.
    /// - Throws: what ``open(_:store:parameters:pairing:recovery:)`` throws; what the closure throws.
    public static func with<Output>(
        _ choice: AdapterChoice = .default,
        store: PeerStore? = nil,
        parameters: ConnectionParameters? = nil,
        pairing: PairingAnswers? = nil,
        recovery: RecoveryPlan = RecoveryPlan(),
        _ body: (Central) async throws -> Output
    ) async throws -> Output {
        try await open(choice, store: store, parameters: parameters, pairing: pairing, recovery: recovery).scope(body)
    }

    /// The same, after waiting until the adapter is on.
    ///
    /// - Parameters:
    ///   - choice: which adapter; by default the first one that is switched on.
    ///   - store: where bonds and other knowledge of peers are kept; as in
    ///     ``open(_:store:parameters:pairing:recovery:)``.
    ///   - parameters: the parameters of its links, as there.
    ///   - pairing: who answers when an operation needs a more secure link, as there.
    ///   - recovery: what to do about an adapter that doesn't work, as there.
    ///   - timeout: how long to wait for the adapter; `nil`: for as long as it takes.
    ///   - body: what to do with the central.
    /// - Returns: what the closure returns.
    /// - Throws: what ``open(_:store:parameters:pairing:recovery:waitingFor:)`` throws; what the closure throws.
    public static func with<Output>(
        _ choice: AdapterChoice = .default,
        store: PeerStore? = nil,
        parameters: ConnectionParameters? = nil,
        pairing: PairingAnswers? = nil,
        recovery: RecoveryPlan = RecoveryPlan(),
        waitingFor timeout: Duration?,
        _ body: (Central) async throws -> Output
    ) async throws -> Output {
        try await open(
            choice,
            store: store,
            parameters: parameters,
            pairing: pairing,
            recovery: recovery,
            waitingFor: timeout
        ).scope(body)
    }

    private func scope<Output>(_ body: (Central) async throws -> Output) async throws -> Output {
        do {
            let output = try await body(self)
            await core.becomeQuiet()
            return output
        } catch {
            await core.becomeQuiet()
            throw error
        }
    }
}

extension CentralCore {
    /// How long to wait for a link to go down.
    private static let patience = Duration.seconds(5)

    /// Waits until no link is up, the radio has finished and the files are written; cancellation doesn't interrupt it.
    fileprivate func becomeQuiet() async {
        await undisturbedReply(on: timeline, limit: (Self.patience, ())) { finish in
            states.whenQuiet { finish(()) }
            return {}
        }
        await radio.finished()
        await store.flush(on: timeline)
        preferences.forgetAnswers()
    }
}
