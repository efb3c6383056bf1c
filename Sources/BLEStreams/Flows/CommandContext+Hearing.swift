import BLEProtocol
import BLERadio

extension CommandContext {
    /// The next event.
    ///
    /// A command hears events from its first call of this method, ``begin(_:total:completed:)``, ``find(within:)``,
    /// ``reconnect(_:adapterWithin:)`` or ``subscribe(to:indications:)`` on. The first events describe the state at
    /// that time. Events are kept until they are taken. A replaced command hears nothing more.
    ///
    /// - Parameter timeout: how long to wait; `nil`: without limit.
    /// - Throws: ``BLEError/Code/timedOut``; ``BLEError/Code/overflow`` behind 65,536 events that were not taken;
    ///   `CancellationError`; ``BLEError/Code/ended`` or `CancellationError` if another command has replaced this one.
    ///   Once, behind its values, the error of a subscription that has ended while the link is up:
    ///   ``BLEError/Code/servicesChanged`` if the device no longer has the characteristic, for example.
    public func next(timeout: Duration? = nil) async throws -> Event {
        if let timeout { return try await next(before: timeline.now + timeout, of: timeout) }
        while true { if let event = try await scope.listen().next().get() { return event } }
    }

    /// The next event before this moment, for a caller that skips some and waits for that long in all.
    ///
    /// - Parameter timeout: how long the whole wait may take, for the error.
    package func next(before end: Duration, of timeout: Duration) async throws -> Event {
        while true { if let event = try await hear(before: end, of: timeout) { return event } }
    }

    /// The same; `nil` where values may be missing.
    private func hear(before end: Duration, of timeout: Duration) async throws -> Event? {
        let (inbox, operation, peripheral) = (scope.listen(), scope.operation, peripheral)
        let error: @Sendable () -> any Error = {
            BLEError.timedOut(
                operation,
                object: "on \(peripheral)",
                after: timeout,
                waitingFor: "the device said nothing"
            )
        }
        return try await inbox.next(limit: (max(.zero, end - timeline.now), error)).get()
    }

    /// The next event if there is one already, without waiting. See ``next(timeout:)``.
    public func available() -> Event? {
        // What that one throws, it throws behind the events before.
        while let heard = scope.listen().take(if: { if case .ended = $0 { false } else { true } }) {
            if let event = try? heard.get() { return event }
        }
        return nil
    }

    /// The next value of a subscribed characteristic, and the characteristic; other events are skipped.
    ///
    /// ```swift
    /// struct Measure: Command {
    ///     func run(in context: CommandContext) async throws -> HeartRateMeasurement {
    ///         try await context.subscribe(to: .heartRateMeasurement)
    ///         let (octets, _) = try await context.value(timeout: .seconds(10))
    ///         return try TypedCharacteristic.heartRateMeasurement.value(of: octets)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter timeout: how long to wait, whatever is skipped; `nil`: without limit.
    /// - Throws: ``BLEError/Code/disconnected`` when the link is lost; what ``next(timeout:)`` throws.
    public func value(
        timeout: Duration? = nil
    ) async throws -> (value: CharacteristicValue, source: CharacteristicReference) {
        let limit = timeout.map { (end: timeline.now + $0, timeout: $0) }
        while true {
            let event =
                if let limit { try await next(before: limit.end, of: limit.timeout) } else { try await next() }
            switch event {
            case .received(let value, let source): return (value, source)
            case .linkLost(let error): throw error
            default: break
            }
        }
    }

    /// The next value, as ``value(timeout:)``; `nil` where values of a subscription telling of losses may be missing.
    package func valueOrLoss(
        timeout: Duration
    ) async throws -> (value: CharacteristicValue, source: CharacteristicReference)? {
        let end = timeline.now + timeout
        while true {
            switch try await hear(before: end, of: timeout) {
            case .received(let value, let source)?: return (value, source)
            case .linkLost(let error)?: throw error
            case nil: return nil
            default: break
            }
        }
    }

    /// Subscribes to a characteristic; returns when the device has confirmed that. Its values arrive as
    /// ``Event/received(_:from:)`` until ``unsubscribe(from:)``, the end of the link, or the end of the command. If the
    /// subscription ends before, since the device's services have changed, ``next(timeout:)`` throws why. No event
    /// tells of values that the kernel has dropped: ``Link/droppedPDUs`` counts them.
    ///
    /// A stream, ``CharacteristicAccess/notifications(of:indications:buffer:)->BLEStream<Key.Value>``, suits a command
    /// that waits for one characteristic; this suits a command that waits for several, for the link and for the device
    /// at once.
    ///
    /// - Parameters:
    ///   - key: the characteristic. A second subscription by the same name replaces the first.
    ///   - indications: whether to prefer indications if the characteristic has both.
    /// - Throws: what the loop of such a stream throws; ``BLEError/Code/ended`` if another command has replaced this
    ///   one.
    public func subscribe(to key: some CharacteristicKey, indications: Bool = false) async throws {
        try await subscribe(to: key, indications: indications, tellsOfLosses: false)
    }

    /// The same.
    ///
    /// - Parameter tellsOfLosses: whether ``valueOrLoss(timeout:)`` returns `nil` where the kernel has dropped PDUs
    ///   that may have been values, or where the subscription was made anew: for parts of messages.
    package func subscribe(
        to key: some CharacteristicKey,
        indications: Bool = false,
        tellsOfLosses: Bool
    ) async throws {
        let (reference, inbox) = (key.reference, scope.listen())
        let link = try self.link
        scope.unsubscribe(from: reference)
        let undo = try await link.subscribe(
            reference.selector,
            indications: indications,
            deliver: { inbox.send(.received($0, from: reference)) },
            missed: { if tellsOfLosses { inbox.send(.missed) } },
            // The end of the link is an event of its own.
            ended: { error in if let error, error.reason == nil { inbox.send(.ended(reference, error)) } }
        )
        if !scope.add(undo, of: reference) { undo() }
        try work.check()
    }

    /// Unsubscribes from a characteristic, named as in ``subscribe(to:indications:)``. If the device had ended the
    /// subscription before, ``next(timeout:)`` doesn't throw that any more.
    public func unsubscribe(from key: some CharacteristicKey) { scope.unsubscribe(from: key.reference) }
}
