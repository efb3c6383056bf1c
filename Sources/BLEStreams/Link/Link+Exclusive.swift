import BLEProtocol
import BLERadio

extension Link {
    /// Runs the closure with the link for itself: between its operations nobody else's go on air.
    ///
    /// ```swift
    /// let answer = try await link.exclusively { link in
    ///     try await link.write([0x01], to: .control)
    ///     return try await link.read(.result)
    /// }
    /// ```
    ///
    /// Use the link that the closure is given. What others begin meanwhile waits, the switching on and off of their
    /// streams too, in order, until the closure has returned and what it left under way is done. Operations under way
    /// when it is called are finished first. Called on a link that is held already, the closure runs at once.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: ``BLEError/Code/disconnected``; ``BLEError/Code/deadlock`` when this task holds the link already, by
    ///   another handle; what the closure throws; `CancellationError`, at once, also while waiting.
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
        _ object: String
    ) -> Result<Bearer.Hold, any Error> {
        let pass: Result<LinkMachine.Pass, LinkFailure> = outcome.typed()
        return pass.map { Bearer.Hold(bearer: bearer, id: $0) }
            .mapError { failure in
                let security = bearer.radioLink.security
                return BLEError(failure, operation: "hold the link", object: object, target: object, security: security)
            }
    }

    /// Waits until nobody else uses the link; the caller gives it back with `leave()`.
    func acquire() async throws -> Bearer.Hold {
        let object = "of \(peripheral)"
        if bearer.wouldWaitForItself(with: pass) { throw BLEError.waitingForItself("hold the link", object) }
        if let end = bearer.end { throw BLEError.linkEnded(end, operation: "hold the link", object: object) }
        let giveBack: @Sendable (Bearer.Hold) -> Void = { $0.leave() }
        return try await reply(on: timeline, unwanted: giveBack) { finish in
            let caller = OperationCallback(answers: whoAnswers) { [bearer] outcome in
                finish(Self.hold(on: bearer, outcome, object))
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
            remedy: "Use the link that the closure or the command was given."
        )
    }
}
