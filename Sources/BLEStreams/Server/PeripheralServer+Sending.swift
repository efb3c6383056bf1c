import BLEProtocol

extension PeripheralServer {
    /// Sends a notification to one central; waits while its queue is full.
    ///
    /// ```swift
    /// let level = BluetoothUUID(0xFFF1)
    /// let peripheral = LocalPeripheral(name: "Tank") {
    ///     LocalService(BluetoothUUID(0xFFF0)) { LocalCharacteristic(level, [.notify]) }
    /// }
    /// try await peripheral.run { server in
    ///     for try await change in server.subscriptions(of: level) where change.isSubscribed {
    ///         try await server.notify([42], of: level, to: change.central)
    ///     }
    /// }
    /// ```
    ///
    /// This one is for one central. Where there may be others, a central that leaves or unsubscribes at that moment
    /// must not end the loop: catch ``BLEError/Code/disconnected`` and ``BLEError/Code/notSupported``.
    ///
    /// - Parameters:
    ///   - octets: 0 to 512 octets; ``ConnectedCentral/maximumValueLength`` are sent, and the outcome says whether the
    ///     value was cut.
    ///   - key: the characteristic. One of several of a type is named by its service, `.uuid(uuid, in: service)`, or by
    ///     its ``LocalCharacteristic/id``, `.id("left level")`.
    ///   - central: the recipient.
    /// - Returns: what is sent.
    /// - Throws: ``BLEError/Code/notFound``; ``BLEError/Code/notSupported`` if it hasn't subscribed, or no central can;
    ///   ``BLEError/Code/overflow`` for more than 512 octets; ``BLEError/Code/permissionDenied`` while the link is less
    ///   secure than the characteristic requires, or the central is not authorized as it requires;
    ///   ``BLEError/Code/invalidArgument`` if the key names several characteristics; ``BLEError/Code/disconnected``;
    ///   what ended the server's radio; `CancellationError`.
    @discardableResult
    public func notify(
        _ octets: some Collection<UInt8>,
        of key: some CharacteristicKey<CharacteristicValue>,
        to central: ConnectedCentral
    ) async throws -> PeripheralServer.NotificationOutcome {
        try await notify(Array(octets), key.reference.selector, to: central)
    }

    /// Sends a typed value as a notification to one central; waits while its queue is full.
    ///
    /// - Returns: what is sent.
    /// - Throws: as for octets, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func notify<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>,
        to central: ConnectedCentral
    ) async throws -> PeripheralServer.NotificationOutcome {
        try await notify(try key.octets(of: value, during: "notify"), key.reference.selector, to: central)
    }

    /// Sends a notification to all subscribed centrals.
    ///
    /// Centrals with room in their queue get it immediately. The call waits for the others, but not for a central that
    /// takes nothing for 10 s: until that one takes values again, it gets no value sent to all, and its outcome says
    /// so.
    ///
    /// - Parameters:
    ///   - octets: 0 to 512 octets; if they exceed a central's MTU, that central gets the beginning, and its outcome
    ///     says so.
    ///   - key: the characteristic.
    /// - Returns: an outcome for each subscribed central, in the order in which they connected; may be empty.
    /// - Throws: ``BLEError/Code/notFound``; ``BLEError/Code/notSupported`` if the characteristic lacks the property
    ///   `notify`; ``BLEError/Code/overflow`` for more than 512 octets; ``BLEError/Code/invalidArgument`` if the key
    ///   names several characteristics; what ended the server's radio; `CancellationError`. It doesn't throw if some
    ///   centrals fail to get the value: the outcomes tell which, with the errors of
    ///   ``notify(_:of:to:)-(Collection<UInt8>,_,_)``.
    @discardableResult
    public func notify(
        _ octets: some Collection<UInt8>,
        of key: some CharacteristicKey<CharacteristicValue>
    ) async throws -> [PeripheralServer.NotificationOutcome] {
        try await notify(Array(octets), key.reference.selector)
    }

    /// Sends a typed value as a notification to all subscribed centrals.
    ///
    /// - Returns: an outcome for each subscribed central; may be empty.
    /// - Throws: as for octets, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func notify<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>
    ) async throws -> [PeripheralServer.NotificationOutcome] {
        try await notify(try key.octets(of: value, during: "notify"), key.reference.selector)
    }

    /// Sends notifications of several characteristics to one central, in one PDU if it supports that and they fit;
    /// waits while its queue is full.
    ///
    /// - Parameters:
    ///   - values: each characteristic with its value, 0 to 512 octets, in order. In one PDU none is cut; otherwise
    ///     ``ConnectedCentral/maximumValueLength`` octets of each are sent.
    ///   - central: the recipient; it must have subscribed to all of them.
    /// - Returns: what is sent of all of them.
    /// - Throws: as for one characteristic.
    @discardableResult
    public func notify(
        _ values: KeyValuePairs<some CharacteristicKey<CharacteristicValue>, [UInt8]>,
        to central: ConnectedCentral
    ) async throws -> PeripheralServer.NotificationOutcome {
        let group = try values.map { key, value in
            (handle: try handle(of: key.reference.selector, value.count, .notify, operation: "notify"), value: value)
        }
        let names = values.map { "\($0.key.reference)" }.joined(separator: ", ")
        let sent = try await central.notify(group, object: "\(names) to \(central)")
        return PeripheralServer.NotificationOutcome(central, sent, of: values.reduce(0) { $0 + $1.value.count })
    }
}

// MARK: - Indications

extension PeripheralServer {
    /// Sends an indication to one central, and waits until it has confirmed it.
    ///
    /// - Parameters:
    ///   - octets: 0 to 512 octets; ``ConnectedCentral/maximumValueLength`` are sent, and the outcome says whether the
    ///     value was cut.
    ///   - key: the characteristic.
    ///   - central: the recipient.
    /// - Returns: what was sent.
    /// - Throws: as ``notify(_:of:to:)-(Collection<UInt8>,_,_)``; ``BLEError/Code/disconnected`` also if the central
    ///   has not confirmed within the 30 s of the specification, which ends its link.
    @discardableResult
    public func indicate(
        _ octets: some Collection<UInt8>,
        of key: some CharacteristicKey<CharacteristicValue>,
        to central: ConnectedCentral
    ) async throws -> PeripheralServer.IndicationOutcome {
        try await indicate(Array(octets), key.reference.selector, to: central)
    }

    /// Sends a typed value as an indication to one central, and waits until it has confirmed it.
    ///
    /// - Returns: what was sent.
    /// - Throws: as for octets, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func indicate<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>,
        to central: ConnectedCentral
    ) async throws -> PeripheralServer.IndicationOutcome {
        try await indicate(try key.octets(of: value, during: "indicate"), key.reference.selector, to: central)
    }

    /// Sends an indication to all subscribed centrals at once, and waits until each has confirmed it or failed to: no
    /// central waits for another, and the call returns within 30 s of the last one's turn.
    ///
    /// - Parameters:
    ///   - octets: 0 to 512 octets; if they exceed a central's MTU, that central gets the beginning, and its outcome
    ///     says so.
    ///   - key: the characteristic.
    /// - Returns: an outcome for each subscribed central, in the order in which they connected; may be empty.
    /// - Throws: ``BLEError/Code/notFound``; ``BLEError/Code/notSupported`` if the characteristic lacks the property
    ///   `indicate`; ``BLEError/Code/overflow`` for more than 512 octets; ``BLEError/Code/invalidArgument`` if the key
    ///   names several characteristics; what ended the server's radio; `CancellationError`. It doesn't throw if some
    ///   centrals fail to confirm: the outcomes tell which, with the errors of
    ///   ``indicate(_:of:to:)-(Collection<UInt8>,_,_)``.
    @discardableResult
    public func indicate(
        _ octets: some Collection<UInt8>,
        of key: some CharacteristicKey<CharacteristicValue>
    ) async throws -> [PeripheralServer.IndicationOutcome] {
        try await indicate(Array(octets), key.reference.selector)
    }

    /// Sends a typed value as an indication to all subscribed centrals at once, and waits until each has confirmed it
    /// or failed to.
    ///
    /// - Returns: an outcome for each subscribed central; may be empty.
    /// - Throws: as for octets, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func indicate<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>
    ) async throws -> [PeripheralServer.IndicationOutcome] {
        try await indicate(try key.octets(of: value, during: "indicate"), key.reference.selector)
    }
}

// MARK: - By whichever key

extension PeripheralServer {
    private func notify(
        _ value: [UInt8],
        _ name: CharacteristicSelector,
        to central: ConnectedCentral
    ) async throws -> PeripheralServer.NotificationOutcome {
        let handle = try handle(of: name, value.count, .notify, operation: "notify")
        let sent = try await central.notify(handle, value, object: "\(name) to \(central)")
        return PeripheralServer.NotificationOutcome(central, sent, of: value.count)
    }

    private func notify(_ value: [UInt8], _ name: CharacteristicSelector) async throws -> [PeripheralServer
        .NotificationOutcome]
    {
        let handle = try handle(of: name, value.count, .notify, operation: "notify")
        var outcomes: [PeripheralServer.NotificationOutcome] = []
        var waiting: [(place: Int, central: ConnectedCentral)] = []
        for central in centrals where central.wants(.notify, of: handle) {
            switch central.notifyAtOnce(handle, value) {
            case .success(let sent):
                outcomes.append(PeripheralServer.NotificationOutcome(central, sent, of: value.count))
            case .failure(.full):
                waiting.append((outcomes.count, central))
                outcomes.append(PeripheralServer.NotificationOutcome(central, 0, of: value.count))
            case .failure(let refusal):
                let error = central.refused(refusal, operation: "notify", object: "\(name) to \(central)")
                outcomes.append(PeripheralServer.NotificationOutcome(central, failed: error))
            }
        }
        guard !waiting.isEmpty else { return outcomes }
        // No central waits for another.
        try await withThrowingTaskGroup(of: (Int, PeripheralServer.NotificationOutcome).self) { group in
            for (place, central) in waiting {
                group.addTask {
                    do {
                        let sent = try await central.notifyAmongOthers(handle, value, object: "\(name) to \(central)")
                        return (place, PeripheralServer.NotificationOutcome(central, sent, of: value.count))
                    } catch let error as BLEError {
                        return (place, PeripheralServer.NotificationOutcome(central, failed: error))
                    }
                }
            }
            for try await (place, outcome) in group { outcomes[place] = outcome }
        }
        return outcomes
    }

    private func indicate(
        _ value: [UInt8],
        _ name: CharacteristicSelector,
        to central: ConnectedCentral
    ) async throws -> PeripheralServer.IndicationOutcome {
        let handle = try handle(of: name, value.count, .indicate, operation: "indicate")
        let sent = try await central.indicate(handle, value, object: "\(name) to \(central)")
        return PeripheralServer.IndicationOutcome(
            central: central,
            error: nil,
            sentCount: sent,
            isCut: sent < value.count
        )
    }

    private func indicate(_ value: [UInt8], _ name: CharacteristicSelector) async throws -> [PeripheralServer
        .IndicationOutcome]
    {
        let handle = try handle(of: name, value.count, .indicate, operation: "indicate")
        let subscribers = centrals.filter { $0.wants(.indicate, of: handle) }
        return try await withThrowingTaskGroup(of: (Int, PeripheralServer.IndicationOutcome).self) { group in
            for (place, central) in subscribers.enumerated() {
                group.addTask {
                    do {
                        return (place, try await self.indicate(value, name, to: central))
                    } catch let error as BLEError {
                        return (
                            place,
                            PeripheralServer.IndicationOutcome(
                                central: central,
                                error: error,
                                sentCount: 0,
                                isCut: false
                            )
                        )
                    }
                }
            }
            var outcomes: [(place: Int, outcome: PeripheralServer.IndicationOutcome)] = []
            for try await outcome in group { outcomes.append(outcome) }
            return outcomes.sorted { $0.place < $1.place }.map(\.outcome)
        }
    }
}

extension PeripheralServer.NotificationOutcome {
    init(_ central: ConnectedCentral, _ sent: Int, of count: Int, dropped: Int = 0) {
        self.init(central: central, error: nil, sentCount: sent, isCut: sent < count, droppedCount: dropped)
    }

    init(_ central: ConnectedCentral, failed error: BLEError, dropped: Int = 0) {
        self.init(central: central, error: error, sentCount: 0, isCut: false, droppedCount: dropped)
    }
}

extension ConnectedCentral {
    /// Whether it has subscribed to a characteristic in this way, and its link is up.
    func wants(_ kind: ServerClient.Subscription, of handle: UInt16) -> Bool {
        bearer.end == nil && bearer.serve { server, _ in server.client.wants(kind, of: handle) }
    }
}
