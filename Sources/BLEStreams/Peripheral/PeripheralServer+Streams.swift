public import BLEProtocol

/// A central has connected or left.
public enum CentralEvent: Sendable {
    /// It is connected.
    case connected(ConnectedCentral)
    /// It has left, for this reason.
    case disconnected(ConnectedCentral, DisconnectReason)
}

extension PeripheralServer {
    /// Who connects and who leaves, from now on. Ends when the server stops; throws when the adapter fails.
    public var centralEvents: BLEStream<CentralEvent> {
        events(nil, StreamSubject(operation: "centrals")) { event in
            switch event {
            case .connected(let central): .connected(central)
            case .disconnected(let central, let reason): .disconnected(central, reason)
            default: nil
            }
        }
    }

    /// Who subscribes to a characteristic and who takes it back, from now on.
    ///
    /// - Parameter uuid: the characteristic; `nil`: all.
    /// - Returns: a stream that ends when the server stops, and throws when the adapter fails.
    public func subscriptions(of uuid: BluetoothUUID? = nil) -> BLEStream<SubscriptionChange> {
        watch(uuid, "subscriptions") { if case .subscription(let change) = $0 { change } else { nil } }
    }

    /// Reads of a dynamic value, to be answered. Several iterations share the requests: each goes to the oldest.
    ///
    /// - Parameter uuid: the characteristic; `nil`: all.
    /// - Returns: a stream that ends when the server stops, and throws when the adapter fails.
    public func reads(of uuid: BluetoothUUID? = nil) -> BLEStream<ReadRequest> {
        watch(uuid, "reads") { if case .read(let request) = $0 { request } else { nil } }
    }

    /// Writes of a value: of a dynamic one, to be accepted or rejected; of a stored one, done already.
    ///
    /// - Parameter uuid: the characteristic; `nil`: all.
    /// - Returns: a stream that ends when the server stops, and throws when the adapter fails.
    public func writes(to uuid: BluetoothUUID? = nil) -> BLEStream<WriteRequest> {
        watch(uuid, "writes") { if case .write(let request) = $0 { request } else { nil } }
    }

    private func watch<Element: Sendable>(
        _ uuid: BluetoothUUID?,
        _ operation: String,
        _ choose: @escaping @Sendable (Event) -> Element?
    ) -> BLEStream<Element> {
        let subject = StreamSubject(operation: operation, object: uuid.map { "of \($0)" } ?? "")
        guard let uuid else { return events(nil, subject, choose) }
        // A characteristic that doesn't exist has the handle of none.
        return events(handle(of: uuid) ?? 0, subject, choose)
    }

    // MARK: - Values

    /// The value of a stored characteristic; `nil` where it is dynamic or doesn't exist.
    public func value(of uuid: BluetoothUUID) -> [UInt8]? {
        guard let handle = handle(of: uuid) else { return nil }
        return database.withLock { $0.value(at: handle) }
    }

    /// Changes the value of a stored characteristic; nobody is notified by this alone.
    ///
    /// - Throws: ``BLEError/Code/notFound`` when it doesn't exist or is dynamic; ``BLEError/Code/overflow`` when the
    ///   value is longer than the characteristic allows.
    public func setValue(_ value: some Collection<UInt8>, of uuid: BluetoothUUID) throws {
        let handle = try requiredHandle(of: uuid, operation: "set value")
        let (isStored, isTaken) = database.withLock { database in
            (database.value(at: handle) != nil, database.store(Array(value), at: handle))
        }
        guard isTaken else {
            throw BLEError(
                isStored ? .overflow : .notFound,
                operation: "set value",
                object: "of \(uuid)",
                cause: isStored ? "\(value.count) octets are too many for it" : "its value is not stored",
                remedy: isStored
                    ? "Describe the characteristic with a larger maximumLength." : "Describe it as .stored."
            )
        }
    }

    // MARK: - Sending

    /// Sends a notification to one central, or to all that have subscribed; waits while a queue is full.
    ///
    /// - Parameters:
    ///   - value: at most MTU − 3 octets of it are sent.
    ///   - uuid: the characteristic.
    ///   - central: who gets it; `nil`: all subscribers, perhaps nobody.
    /// - Throws: ``BLEError/Code/notFound``; for one central also ``BLEError/Code/notSupported`` when it hasn't
    ///   subscribed and ``BLEError/Code/disconnected``; `CancellationError`.
    public func notify(
        _ value: some Collection<UInt8>,
        of uuid: BluetoothUUID,
        to central: ConnectedCentral? = nil
    ) async throws {
        let handle = try requiredHandle(of: uuid, operation: "notify")
        let octets = Array(value)
        if let central {
            return try await central.notify(handle, octets, object: "\(uuid) to \(central)")
        }
        // Who has room gets it at once; then those are waited for who have none.
        let waiting = centrals.filter { $0.isSubscribed(to: handle, .notify) && !$0.notifyAtOnce(handle, octets) }
        for central in waiting {
            // Who leaves meanwhile doesn't keep the value from the others.
            do {
                try await central.notify(handle, octets, object: "\(uuid) to \(central)")
            } catch is BLEError {}
        }
    }

    /// Sends notifications of several characteristics to one central, in one PDU where it takes that and they fit;
    /// waits while its queue is full.
    ///
    /// - Parameters:
    ///   - values: each characteristic with its value, in order. In one PDU none is cut; else at most MTU − 3 octets of
    ///     each are sent.
    ///   - central: who gets them; it must have subscribed to all of them.
    /// - Throws: ``BLEError/Code/notFound``, ``BLEError/Code/notSupported`` when it hasn't subscribed,
    ///   ``BLEError/Code/disconnected``; `CancellationError`.
    public func notify(_ values: KeyValuePairs<BluetoothUUID, [UInt8]>, to central: ConnectedCentral) async throws {
        let group = try values.map { (handle: try requiredHandle(of: $0.key, operation: "notify"), value: $0.value) }
        let names = values.map { "\($0.key)" }.joined(separator: ", ")
        try await central.notify(group, object: "\(names) to \(central)")
    }

    /// Sends an indication to one central, and waits until it has confirmed it.
    ///
    /// - Parameters:
    ///   - value: at most MTU − 3 octets of it are sent.
    ///   - uuid: the characteristic.
    ///   - central: who gets it.
    /// - Throws: ``BLEError/Code/notFound``; ``BLEError/Code/notSupported`` when the central hasn't subscribed;
    ///   ``BLEError/Code/disconnected``, also when it has not confirmed within the 30 s of the specification, which ends
    ///   its link; `CancellationError`.
    public func indicate(
        _ value: some Collection<UInt8>,
        of uuid: BluetoothUUID,
        to central: ConnectedCentral
    ) async throws {
        let handle = try requiredHandle(of: uuid, operation: "indicate")
        try await central.indicate(handle, Array(value), object: "\(uuid) to \(central)")
    }

    /// Sends an indication to all that have subscribed, at once, and waits until each has confirmed it or failed to:
    /// nobody waits for another one, and the call returns within 30 s of the last one's turn.
    ///
    /// - Parameters:
    ///   - value: at most MTU − 3 octets of it are sent.
    ///   - uuid: the characteristic.
    /// - Returns: what became of it, for each that had subscribed, in the order in which they connected; perhaps nobody.
    /// - Throws: ``BLEError/Code/notFound``; `CancellationError`. That some have failed throws nothing: the outcomes say
    ///   which, with the errors of ``indicate(_:of:to:)``.
    @discardableResult
    public func indicate(_ value: some Collection<UInt8>, of uuid: BluetoothUUID) async throws -> [IndicationOutcome] {
        let handle = try requiredHandle(of: uuid, operation: "indicate")
        let octets = Array(value)
        let subscribers = centrals.filter { $0.isSubscribed(to: handle, .indicate) }
        return try await withThrowingTaskGroup(of: (Int, IndicationOutcome).self) { group in
            for (place, central) in subscribers.enumerated() {
                group.addTask {
                    do {
                        try await central.indicate(handle, octets, object: "\(uuid) to \(central)")
                        return (place, IndicationOutcome(central: central, error: nil))
                    } catch let error as BLEError {
                        return (place, IndicationOutcome(central: central, error: error))
                    }
                }
            }
            var outcomes: [(place: Int, outcome: IndicationOutcome)] = []
            for try await outcome in group { outcomes.append(outcome) }
            return outcomes.sorted { $0.place < $1.place }.map(\.outcome)
        }
    }

    /// Sends a message in chunks as large as the link carries, then the end mark as a chunk of its own.
    ///
    /// - Parameters:
    ///   - message: any number of octets.
    ///   - uuid: the characteristic, to which the central has subscribed.
    ///   - central: who gets it.
    ///   - mark: what tells the central that the message is complete.
    /// - Throws: as ``notify(_:of:to:)``.
    public func send(
        _ message: some Collection<UInt8>,
        of uuid: BluetoothUUID,
        to central: ConnectedCentral,
        endMark mark: String = "EOM"
    ) async throws {
        var rest = Array(message)[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(central.mtu - 3)
            try await notify(chunk, of: uuid, to: central)
            rest.removeFirst(chunk.count)
        }
        try await notify(Array(mark.utf8), of: uuid, to: central)
    }

    // MARK: - Handles

    private func handle(of uuid: BluetoothUUID) -> UInt16? {
        database.withLock { database in database.characteristics.first { $0.uuid == uuid }?.valueHandle }
    }

    private func requiredHandle(of uuid: BluetoothUUID, operation: String) throws -> UInt16 {
        if let handle = handle(of: uuid) { return handle }
        throw BLEError(
            .notFound,
            operation: operation,
            object: "of \(uuid)",
            cause: "this peripheral has no such characteristic",
            remedy: "Add it to the services of the LocalPeripheral."
        )
    }
}

extension ConnectedCentral {
    /// Whether it wants values of a characteristic in this way, and its link stands.
    func isSubscribed(to handle: UInt16, _ kind: ServerClient.Subscription) -> Bool {
        bearer.end == nil && bearer.serve { server, _ in server.client.subscription(of: handle) == kind }
    }
}
