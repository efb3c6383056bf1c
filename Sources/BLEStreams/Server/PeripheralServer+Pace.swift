public import BLEProtocol

// Notifications that wait for nobody: each central has a queue of its own, and a policy for what it has no room for.
extension PeripheralServer {
    /// Which centrals fall behind with their notifications, and which have caught up: those who are behind at once, and then
    /// each change.
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
    public var backlogs: BLEStream<CentralBacklog> {
        BLEStream(
            StreamSubject(operation: "backlogs", object: name),
            timeline: radio.timeline,
            buffer: .standard
        ) { [backlogBoard] mailbox in backlogBoard.watch(mailbox) }
    }

    /// Sends a notification to all centrals that have subscribed, and waits for none of them.
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
    /// What waits is counted for each central and each characteristic by itself, beside the value that its link is being
    /// given: one that is slow keeps nobody else waiting, and no other characteristic. ``ConnectedCentral/notifications``
    /// counts what was dropped, and ``backlogs`` tells who is behind.
    ///
    /// - Parameters:
    ///   - value: 0 to 512 octets; of a longer one than the MTU of a central takes it gets the beginning, which its outcome
    ///     tells.
    ///   - uuid: the characteristic.
    ///   - buffer: what happens where so many values of the characteristic wait for a central: `.newest` drops the oldest of
    ///     them, `.oldest` and `.fail` drop this one, which the outcome's ``BLEError/Code/overflow`` says; `.unbounded` keeps all.
    /// - Returns: what became of it, for each that had subscribed, in the order in which they connected; perhaps nobody.
    /// - Throws: ``BLEError/Code/notFound``; ``BLEError/Code/notSupported`` where the characteristic has no property
    ///   `notify`; ``BLEError/Code/overflow`` for more than 512 octets; ``BLEError/Code/invalidArgument`` when several
    ///   characteristics have this UUID; what ended the server's radio.
    @discardableResult
    public func notify(
        _ value: some Collection<UInt8>,
        of uuid: BluetoothUUID,
        buffer: BufferPolicy
    ) throws -> [NotificationOutcome] { try notify(Array(value), .uuid(uuid), buffer) }

    /// Sends a notification of the characteristic with this ``LocalCharacteristic/id`` to all that have subscribed, and waits
    /// for none of them.
    ///
    /// - Returns: what became of it, for each that had subscribed; perhaps nobody.
    /// - Throws: as for a UUID.
    @discardableResult
    public func notify(
        _ value: some Collection<UInt8>,
        of id: String,
        buffer: BufferPolicy
    ) throws -> [NotificationOutcome] { try notify(Array(value), .id(id), buffer) }

    /// Sends a notification of a value with a type to all that have subscribed, and waits for none of them.
    ///
    /// - Returns: what became of it, for each that had subscribed; perhaps nobody.
    /// - Throws: as for a UUID, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func notify<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>,
        buffer: BufferPolicy
    ) throws -> [NotificationOutcome] {
        try notify(try key.octets(of: value, during: "notify"), .uuid(key.uuid), buffer)
    }

    /// Sends a notification to one central, and doesn't wait for it.
    ///
    /// - Returns: what is sent, and how many values were dropped for it.
    /// - Throws: as for all, and as ``notify(_:of:to:)``; with `.fail` ``BLEError/Code/overflow`` where there is no room, which
    ///   with `.oldest` only the outcome says.
    @discardableResult
    public func notify(
        _ value: some Collection<UInt8>,
        of uuid: BluetoothUUID,
        to central: ConnectedCentral,
        buffer: BufferPolicy
    ) throws -> NotificationOutcome { try notify(Array(value), .uuid(uuid), to: central, buffer) }

    /// Sends a notification of the characteristic with this ``LocalCharacteristic/id`` to one central, and doesn't wait for it.
    ///
    /// - Returns: what is sent, and how many values were dropped for it.
    /// - Throws: as for a UUID.
    @discardableResult
    public func notify(
        _ value: some Collection<UInt8>,
        of id: String,
        to central: ConnectedCentral,
        buffer: BufferPolicy
    ) throws -> NotificationOutcome { try notify(Array(value), .id(id), to: central, buffer) }

    /// Sends a notification of a value with a type to one central, and doesn't wait for it.
    ///
    /// - Returns: what is sent, and how many values were dropped for it.
    /// - Throws: as for a UUID, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func notify<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>,
        to central: ConnectedCentral,
        buffer: BufferPolicy
    ) throws -> NotificationOutcome {
        try notify(try key.octets(of: value, during: "notify"), .uuid(key.uuid), to: central, buffer)
    }

    private func notify(_ value: [UInt8], _ name: LocalName, _ buffer: BufferPolicy) throws -> [NotificationOutcome] {
        let handle = try handle(of: name, value.count, .notify, operation: "notify")
        return centrals.filter { $0.wants(.notify, of: handle) }.map { central in
            switch central.notify(handle, value, buffer, object: "\(name) to \(central)") {
            case .success(let outcome): outcome
            case .failure(let error): NotificationOutcome(central, failed: error)
            }
        }
    }

    private func notify(
        _ value: [UInt8],
        _ name: LocalName,
        to central: ConnectedCentral,
        _ buffer: BufferPolicy
    ) throws -> NotificationOutcome {
        let handle = try handle(of: name, value.count, .notify, operation: "notify")
        let outcome = try central.notify(handle, value, buffer, object: "\(name) to \(central)").get()
        if case .fail = buffer, let error = outcome.error { throw error }
        return outcome
    }
}
