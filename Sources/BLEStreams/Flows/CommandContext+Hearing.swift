import BLEProtocol
import BLERadio
import Synchronization

extension CommandContext {
    /// The next event.
    ///
    /// A command hears from its first call of ``begin(_:total:completed:)``, ``find(within:)``,
    /// ``reconnect(_:adapterWithin:)``, ``subscribe(to:indications:)`` or this on: first how things are then. Events wait
    /// until they are taken. One whose place another command has taken hears nothing more.
    ///
    /// - Parameter timeout: how long to wait; `nil`: for ever.
    /// - Throws: ``BLEError/Code/timedOut``; `CancellationError`, also when another command has taken the place of this one.
    public func next(timeout: Duration? = nil) async throws -> Event {
        let (inbox, phase, object) = (scope.listen(), scope.phase, "on \(peripheral)")
        return try await inbox.next(
            limit: timeout.map { timeout in
                (
                    timeout,
                    { BLEError.timedOut(phase, object: object, after: timeout, waitingFor: "the device said nothing") }
                )
            }
        )
    }

    /// The next event if it is there already. See ``next(timeout:)``.
    public func available() -> Event? { scope.listen().take() }

    /// The next value of a characteristic that is subscribed to, and which one it is; other events are passed over.
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
    /// - Throws: ``BLEError/Code/disconnected`` when the link is lost; ``BLEError/Code/timedOut``; `CancellationError`.
    public func value(
        timeout: Duration? = nil
    ) async throws -> (value: CharacteristicValue, source: CharacteristicReference) {
        while true {
            switch try await next(timeout: timeout) {
            case .received(let value, let source): return (value, source)
            case .linkLost(let error): throw error
            default: break
            }
        }
    }

    /// Switches the values of a characteristic on; returns when the device has confirmed that. They come as
    /// ``Event/received(_:from:)``, until ``unsubscribe(from:)``, the end of the link, or that of the command.
    ///
    /// A stream, ``CharacteristicAccess/notifications(of:indications:buffer:)->BLEStream<Key.Value>``, suits a command that waits for one
    /// characteristic; this suits one that waits for several, for the link and for the device at once.
    ///
    /// - Parameters:
    ///   - key: the characteristic. Naming the same one in the same way again makes a new subscription in place of the
    ///     former one.
    ///   - indications: whether indications are preferred where the characteristic has both.
    /// - Throws: as the loop of a stream; ``BLEError/Code/ended`` when another command has taken the place of this one.
    public func subscribe(to key: some CharacteristicKey, indications: Bool = false) async throws {
        let (reference, inbox) = (key.reference, scope.listen())
        let link = try self.link
        scope.unsubscribe(from: reference)
        let undo = try await link.subscribe(
            reference.selector,
            indications: indications,
            deliver: { inbox.send(.received($0, from: reference)) }
        )
        if !scope.add(undo, of: reference) { undo() }
        try work.check()
    }

    /// Switches the values of a characteristic off; it is named as it was for ``subscribe(to:indications:)``.
    public func unsubscribe(from key: some CharacteristicKey) { scope.unsubscribe(from: key.reference) }
}
