/// What a server does for clients that remember its database when the database changes.
///
/// Clients with robust caching are change-aware or change-unaware:
/// ```
///                 the database changes
///   change-aware ─────────────────────► change-unaware ── asks for a handle ──► Database Out Of Sync, once
///        ▲                                  │   │   │                                │
///        ├── confirms Service Changed ──────┘   │   │                                │
///        ├── reads the hash, then asks again ───┘   │                                │
///        └── asks again ────────────────────────────┴────────────────────────────────┘
/// ```
/// While it is unaware, its commands are ignored, and only Service Changed is sent to it. Source: Core Specification,
/// Vol 3, Part G, 2.5.2.1.
extension ATTServer {
    /// What happened on this bearer since the last change.
    struct Caching: Hashable, Sendable {
        /// Whether the client got the answer Database Out Of Sync.
        var hasToldOutOfSync = false
        /// Whether the client has read the Database Hash.
        var hasReadHash = false
        /// Whether prepared writes may be for attributes that have changed.
        var hasStaleWrites = false
        /// The indication of Service Changed that reports everything that the client missed.
        var indication: IndicationID?
    }

    /// Applies a change of the database immediately, not only with the client's next PDU: subscriptions to removed
    /// characteristics end, and the client is told if it has subscribed to that.
    package mutating func synchronize(with database: AttributeDatabase) -> Output {
        var output = Output()
        if !hasEnded { takeNote(of: database, &output) }
        return output
    }

    /// Whether the client must first learn that what it remembers may be wrong.
    package var isOutOfSync: Bool { client.isOutOfSync }

    /// Whether values wait until the client asks for something, without a time limit: it doesn't know of a change, and
    /// no indication tells it on this link.
    package var waitsForClient: Bool { isOutOfSync && caching.indication == nil }

    mutating func takeNote(of database: AttributeDatabase, _ output: inout Output) {
        defer { client.databaseVersion = database.history.version }
        if let known = client.databaseVersion, let change = database.history.change(since: known) {
            client.isChangeAware = false
            output.hasNewState = true
            caching = Caching(hasStaleWrites: !client.preparedWrites.entries.isEmpty, indication: caching.indication)
            longReads = longReads.filter { !change.hasRemoved($0.key) }
            dropSubscriptions(change, &output)
            indicate(change.affected, database, &output)
        } else if let missed = client.unconfirmedChange, caching.indication == nil {
            // A client that was connected before, and left without confirming.
            indicate(missed, database, &output)
        }
    }

    /// Ends the subscriptions to removed characteristics.
    private mutating func dropSubscriptions(_ change: DatabaseChange, _ output: inout Output) {
        for handle in client.configurations.keys.sorted() where change.hasRemoved(handle) {
            client.configure(handle, 0)
            outbox.dropNotifications(of: handle)
            output.unconfirmed += outbox.dropIndications(of: handle)
            output.subscriptionChanges.append(.init(characteristic: handle, subscription: .none))
        }
        output.room.formUnion(outbox.takeRoom(limits: limits))
    }

    /// Queues Service Changed before all other indications, replacing one that waits.
    private mutating func indicate(
        _ affected: ClosedRange<UInt16>,
        _ database: AttributeDatabase,
        _ output: inout Output
    ) {
        guard let characteristic = database.serviceChanged?.valueHandle,
            client.configuration(of: characteristic) & ServerClient.Subscription.indicationBit != 0
        else {
            // An earlier one, from before the client unsubscribed, doesn't report this change.
            caching.indication = nil
            if client.unconfirmedChange.take() != nil { output.hasNewState = true }
            giveUpWaiting(&output)
            return
        }
        let all = client.unconfirmedChange.map { $0.union(affected) } ?? affected
        client.unconfirmedChange = all
        var value = ByteWriter(capacity: 4)
        value.uint16(all.lowerBound)
        value.uint16(all.upperBound)
        _ = outbox.dropIndications(of: characteristic)
        let id = makeIndicationID()
        outbox.indicateFirst(.init(handle: characteristic, octets: value.bytes), id)
        caching.indication = id
    }

    /// The client has confirmed an indication: if it was Service Changed, the client is aware of the change.
    mutating func confirmedByClient(_ id: IndicationID, _ output: inout Output) {
        guard id == caching.indication else { return }
        caching.indication = nil
        client.unconfirmedChange = nil
        becomeAware(&output)
    }

    /// The client has answered an indication with an error: if it was Service Changed, the client knows of the change
    /// no better than before, and nothing else tells it on this link. A bonded client with robust caching is told again
    /// on its next link; any other one has no use for that, and keeps what it has configured.
    mutating func refusedByClient(_ id: IndicationID, _ output: inout Output) {
        guard id == caching.indication else { return }
        caching.indication = nil
        client.unconfirmedChange = nil
        output.hasNewState = true
        giveUpWaiting(&output)
    }

    /// No indication tells the client of the change on this link. If it gets nothing until it asks, waiting indications
    /// are given up, since their wait has no time limit any more, and callers that wait for room, or until nothing
    /// waits, are woken to be refused.
    private mutating func giveUpWaiting(_ output: inout Output) {
        guard isOutOfSync else { return }
        output.unconfirmed += outbox.dropIndications()
        output.room.formUnion([.notifications, .indications])
        if outbox.giveUpAwaiting() { output.room.insert(.empty) }
    }

    /// The client has become aware: it sends a request after the error, or after reading the hash.
    mutating func becomeAwareByAsking(_ output: inout Output) {
        if caching.hasToldOutOfSync || caching.hasReadHash { becomeAware(&output) }
    }

    private mutating func becomeAware(_ output: inout Output) {
        client.isChangeAware = true
        output.hasNewState = true
        caching.hasToldOutOfSync = false
        caching.hasReadHash = false
    }

    /// Notes that the client has read the hash, which tells it whether it must discover again.
    mutating func noteReading(of attribute: Attribute) {
        guard case .databaseHash = attribute.content, !client.isChangeAware else { return }
        caching.hasReadHash = true
    }

    /// Refuses requests with a handle to a client whose handles may be wrong.
    mutating func checkSync(_ handle: UInt16) throws(Refusal) {
        guard isOutOfSync else { return }
        caching.hasToldOutOfSync = true
        throw Refusal(.databaseOutOfSync, handle: handle)
    }

    /// Refuses to search a part of the database; a client may always search all of it, and for declarations.
    mutating func checkSync(_ read: ATTReadByTypeRequest) throws(Refusal) {
        let isDiscovery = [AttributeType.include, AttributeType.characteristic].contains(read.type)
        guard !isDiscovery, read.startHandle != 0x0001 || read.endHandle != 0xFFFF else { return }
        try checkSync(read.startHandle)
    }

    /// Refuses to execute writes that were prepared before a change.
    mutating func checkSync(executing entries: [PreparedWriteQueue.Entry]) throws(Refusal) {
        guard client.features.contains(.robustCaching), let first = entries.first else { return }
        caching.hasToldOutOfSync = !client.isChangeAware
        throw Refusal(.databaseOutOfSync, handle: first.handle)
    }
}

// MARK: - Client Supported Features

extension ATTServer {
    /// Accepts a client's write to Client Supported Features: a bit that is set stays set.
    ///
    /// Source: Core Specification, Vol 3, Part G, 7.2.
    mutating func setFeatures(
        _ value: ArraySlice<UInt8>,
        at handle: UInt16,
        _ output: inout Output
    ) throws(Refusal) {
        let features = try features(value, at: handle)
        if features != client.features { output.hasNewState = true }
        client.features = features
    }

    /// The features that a client writes, if it may.
    func features(_ value: ArraySlice<UInt8>, at handle: UInt16) throws(Refusal) -> GATTClientFeatures {
        guard let octet = value.first else { throw Refusal(.invalidAttributeValueLength, handle: handle) }
        let features = GATTClientFeatures(rawValue: octet).intersection(.known)
        guard features.isSuperset(of: client.features) else { throw Refusal(.valueNotAllowed, handle: handle) }
        return features
    }
}
