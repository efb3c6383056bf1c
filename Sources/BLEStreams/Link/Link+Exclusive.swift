import BLEProtocol
import BLERadio

extension Link {
    /// Runs the closure with exclusive use of the link: no other operations are sent between its own. Use it for a few
    /// operations that belong together; for longer sequences, with retries or progress, use commands in a queue.
    ///
    /// ```swift
    /// let answer = try await link.exclusively { link in
    ///     try await link.write([0x01], to: .control)
    ///     return try await link.read(.result)
    /// }
    /// ```
    ///
    /// In the closure, use the link passed to it. Other operations, including those that subscribe and unsubscribe,
    /// wait in order until the closure has returned and the operations it began are done. Operations in progress are
    /// completed first. If the link passed is already held exclusively, the closure runs immediately.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: ``BLEError/Code/disconnected``; ``BLEError/Code/deadlock`` if this task already holds the link by
    ///   another handle; what the closure throws; `CancellationError` immediately, also while waiting.
    public func exclusively<Output>(_ body: (Link) async throws -> Output) async throws -> Output {
        if bearer.isHeld(by: pass) { return try await body(self) }
        let hold = try await acquire()
        let holds = LaneHolds()
        holds.add(hold)
        defer {
            holds.remove(hold)
            hold.leave()
        }
        let handle = Link(self, pass: hold.id)
        return try await holds.working { try await body(handle) }
    }

    private static func hold(
        on bearer: Bearer,
        _ outcome: Result<GATTSuccess, LinkFailure>,
        _ peripheral: Peripheral
    ) -> Result<Bearer.Hold, any Error> {
        let pass: Result<LinkMachine.Pass, LinkFailure> = outcome.typed()
        return pass.map { Bearer.Hold(bearer: bearer, id: $0) }
            .mapError { failure in
                let (security, object) = (bearer.radioLink.security, "of \(peripheral)")
                return BLEError(failure, operation: "hold the link", object: object, target: object, security: security)
            }
    }

    /// Waits until the link is free; the caller releases it with `leave()`.
    ///
    /// - Parameter limit: how long to wait, and the error to throw then; `nil`: for as long as it takes.
    func acquire(
        limit: (duration: Duration, error: @Sendable () -> any Error)? = nil
    ) async throws -> Bearer.Hold {
        let peripheral = peripheral
        if bearer.wouldWaitForItself(with: pass) {
            throw BLEError.waitingForItself("hold the link", "of \(peripheral)")
        }
        if let end = bearer.end {
            throw BLEError.linkEnded(end, operation: "hold the link", object: "of \(peripheral)")
        }
        let giveBack: @Sendable (Bearer.Hold) -> Void = { $0.leave() }
        return try await reply(on: timeline, limit: limit, unwanted: giveBack) { finish in
            let caller = OperationCallback(answers: whoAnswers) { [bearer] outcome in
                finish(Self.hold(on: bearer, outcome, peripheral))
            }
            bearer.begin(.hold, pass: pass, for: caller)
            return { [bearer] in bearer.cancel(caller) }
        }
    }
}

extension BLEError {
    static func waitingForItself(_ operation: String, _ object: String) -> BLEError {
        BLEError(
            .deadlock,
            operation: operation,
            object: object,
            cause: "this task holds the link and would wait for itself",
            remedy: "Use the link passed to the closure or the command."
        )
    }
}
