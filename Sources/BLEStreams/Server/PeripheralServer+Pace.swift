import BLEProtocol
import BLERadio

// Notifications that don't wait for centrals: each central has a queue, and a policy for values that don't fit.
extension PeripheralServer {
    /// Centrals that fall behind with their notifications or have caught up: first those that are behind now, then each
    /// change.
    ///
    /// ```swift
    /// try await LocalPeripheral(name: "Fast") {
    ///     LocalService(.heartRate) { LocalCharacteristic(BluetoothUUID(0x2A37), [.notify]) }
    /// }.run { server in
    ///     for try await backlog in server.backlogs where backlog.isBehind {
    ///         print("\(backlog.central) is behind: \(backlog.counters.dropped) values dropped so far")
    ///     }
    /// }
    /// ```
    ///
    /// Ends when the server stops; throws when the adapter fails for good.
    public var backlogs: BLEStream<PeripheralServer.CentralBacklog> {
        BLEStream(
            StreamSubject(operation: "backlogs", object: name),
            timeline: radio.timeline,
            buffer: .standard
        ) { [backlogBoard] mailbox in backlogBoard.watch(mailbox) }
    }

    /// Sends a notification to all subscribed centrals, without waiting for any of them.
    ///
    /// ```swift
    /// let level = BluetoothUUID(0x2A19)
    /// try await LocalPeripheral(name: "Battery") {
    ///     LocalService(BluetoothUUID(0x180F)) { LocalCharacteristic(level, [.notify]) }
    /// }.run { server in
    ///     // Who is slow gets the present level, and not all those before.
    ///     try server.notify([97], of: level, buffer: .newest(1))
    /// }
    /// ```
    ///
    /// The buffer applies to each central and each characteristic separately, in addition to the value being passed to
    /// the link: a slow central delays no other central and no other characteristic. ``ConnectedCentral/notifications``
    /// counts dropped values, and ``backlogs`` reports which centrals are behind.
    ///
    /// - Parameters:
    ///   - octets: 0 to 512 octets; if they exceed a central's MTU, that central gets the beginning, and its outcome
    ///     says so.
    ///   - key: the characteristic.
    ///   - buffer: what happens when that many values of the characteristic are waiting for a central: `.newest` drops
    ///     the oldest of them; `.oldest` and `.fail` drop this one, and the outcome has ``BLEError/Code/overflow``;
    ///     `.unbounded` keeps all.
    /// - Returns: an outcome for each subscribed central, in the order in which they connected; may be empty.
    /// - Throws: ``BLEError/Code/notFound``; ``BLEError/Code/notSupported`` if the characteristic lacks the property
    ///   `notify`; ``BLEError/Code/overflow`` for more than 512 octets; ``BLEError/Code/invalidArgument`` if the key
    ///   names several characteristics; what ended the server's radio.
    @discardableResult
    public func notify(
        _ octets: some Collection<UInt8>,
        of key: some CharacteristicKey<CharacteristicValue>,
        buffer: BufferPolicy
    ) throws -> [PeripheralServer.NotificationOutcome] { try notify(Array(octets), key.reference.selector, buffer) }

    /// Sends a typed value as a notification to all subscribed centrals, without waiting for any of them.
    ///
    /// - Returns: an outcome for each subscribed central; may be empty.
    /// - Throws: as for octets, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func notify<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>,
        buffer: BufferPolicy
    ) throws -> [PeripheralServer.NotificationOutcome] {
        try notify(try key.octets(of: value, during: "notify"), key.reference.selector, buffer)
    }

    /// Sends a notification to one central, without waiting for it.
    ///
    /// - Returns: what is sent, and how many values were dropped for it.
    /// - Throws: as for all centrals, and as ``notify(_:of:to:)-(Collection<UInt8>,_,_)``; with `.fail`,
    ///   ``BLEError/Code/overflow`` if there is no room, which with `.oldest` only the outcome reports.
    @discardableResult
    public func notify(
        _ octets: some Collection<UInt8>,
        of key: some CharacteristicKey<CharacteristicValue>,
        to central: ConnectedCentral,
        buffer: BufferPolicy
    ) throws -> PeripheralServer.NotificationOutcome {
        try notify(Array(octets), key.reference.selector, to: central, buffer)
    }

    /// Sends a typed value as a notification to one central, without waiting for it.
    ///
    /// - Returns: what is sent, and how many values were dropped for it.
    /// - Throws: as for octets, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func notify<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>,
        to central: ConnectedCentral,
        buffer: BufferPolicy
    ) throws -> PeripheralServer.NotificationOutcome {
        try notify(try key.octets(of: value, during: "notify"), key.reference.selector, to: central, buffer)
    }

    private func notify(
        _ value: [UInt8],
        _ name: CharacteristicSelector,
        _ buffer: BufferPolicy
    ) throws -> [PeripheralServer.NotificationOutcome] {
        let handle = try handle(of: name, value.count, .notify, operation: "notify")
        return centrals.filter { $0.wants(.notify, of: handle) }.map { central in
            switch central.notify(handle, value, buffer, object: "\(name) to \(central)") {
            case .success(let outcome): outcome
            case .failure(let error): PeripheralServer.NotificationOutcome(central, failed: error)
            }
        }
    }

    private func notify(
        _ value: [UInt8],
        _ name: CharacteristicSelector,
        to central: ConnectedCentral,
        _ buffer: BufferPolicy
    ) throws -> PeripheralServer.NotificationOutcome {
        let handle = try handle(of: name, value.count, .notify, operation: "notify")
        let outcome = try central.notify(handle, value, buffer, object: "\(name) to \(central)").get()
        if case .fail = buffer, let error = outcome.error { throw error }
        return outcome
    }
}
