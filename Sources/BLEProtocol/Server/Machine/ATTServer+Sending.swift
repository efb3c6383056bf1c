extension ATTServer {
    /// Queues a notification; when it is sent, the value is cut at ATT_MTU - 3 octets, and at 512 at most.
    ///
    /// - Parameter bound: where it may wait, and what happens if there is no room.
    /// - Throws: ``SendRefusal`` if the client has not subscribed, or there is no room now.
    @discardableResult
    package mutating func notify(
        _ handle: UInt16,
        _ value: [UInt8],
        _ bound: Bound = .shared,
        database: AttributeDatabase
    ) throws(SendRefusal) -> Queued {
        try check(handle, value, .notify, database)
        let queued = outbox.notify(.init(handle: handle, octets: value), bound, limits: limits)
        guard let queued else { throw .full }
        return queued
    }

    /// What has broken off the values of a characteristic so far: a message of several values takes note of it before
    /// the first one.
    package func breaks(of handle: UInt16) -> Breaks { outbox.notifications.breaks(of: handle) }

    /// Queues a notification that belongs to earlier ones.
    ///
    /// - Parameter before: what had broken off the values before the first one.
    /// - Throws: also ``SendRefusal/brokenOff``: the client has subscribed anew since then, and hasn't got all of them;
    ///   ``SendRefusal/displaced``, ``SendRefusal/narrowed``.
    package mutating func notify(
        _ handle: UInt16,
        _ value: [UInt8],
        _ bound: Bound,
        continuing before: Breaks,
        database: AttributeDatabase
    ) throws(SendRefusal) {
        try check(handle, value, .notify, database)
        guard breaks(of: handle).isSameSubscription(as: before) else { throw .brokenOff }
        guard breaks(of: handle).hasDroppedNothing(since: before) else { throw .displaced }
        guard breaks(of: handle).hasCutNothing(since: before) else { throw .narrowed }
        try notify(handle, value, bound, database: database)
    }

    /// The counts of this client's notifications so far.
    package var notificationCounts: NotificationCounts { outbox.notifications.counts }

    /// Whether no notification of a characteristic waits; if one does, ``Output/room`` reports when none waits any
    /// more, whatever else waits, or when ``waitsForClient`` begins.
    package mutating func watchForEmptiness(of handle: UInt16) -> Bool { outbox.watchForEmptiness(of: handle) }

    /// Counts as dropped a value that the program gave up queueing.
    package mutating func countDropped() {
        // A value that comes after the end was never meant for this client.
        if !hasEnded { outbox.countDropped(1) }
    }

    /// Queues an indication; when it is sent, the value is cut at ATT_MTU - 3 octets, and at 512 at most.
    ///
    /// - Returns: the identifier with which ``Output/confirmed`` or ``Output/unconfirmed`` reports it.
    /// - Throws: ``SendRefusal`` if the client has not subscribed, or there is no room now.
    package mutating func indicate(
        _ handle: UInt16,
        _ value: [UInt8],
        database: AttributeDatabase
    ) throws(SendRefusal) -> IndicationID {
        try check(handle, value, .indicate, database)
        let id = makeIndicationID()
        guard outbox.indicate(.init(handle: handle, octets: value), id, limits: limits) else { throw .full }
        return id
    }

    /// How many octets of a value a notification or an indication carries at the current MTU.
    package var maximumValueLength: Int { min(mtu - 3, ATTLimits.maximumValueLength) }

    mutating func makeIndicationID() -> IndicationID {
        defer { indications += 1 }
        return IndicationID(number: indications)
    }

    /// Queues notifications of several characteristics: one PDU for a client that accepts several values in one, if
    /// they fit, otherwise one for each. In one PDU no value is cut.
    ///
    /// - Throws: ``SendRefusal`` if the client has not subscribed to every one of them, or there is no room now.
    package mutating func notify(
        _ values: [(handle: UInt16, value: [UInt8])],
        database: AttributeDatabase
    ) throws(SendRefusal) {
        for value in values { try check(value.handle, value.value, .notify, database) }
        let isTogether = values.count > 1 && client.features.contains(.multipleNotifications)
        let group = values.map { ServerOutbox.Value(handle: $0.handle, octets: $0.value) }
        guard outbox.notify(group, isTogether: isTogether, limits: limits) else { throw .full }
    }

    private func check(
        _ handle: UInt16,
        _ value: [UInt8],
        _ kind: ServerClient.Subscription,
        _ database: AttributeDatabase
    ) throws(SendRefusal) {
        guard !hasEnded, !isGivenUp else { throw .closed }
        guard value.count <= ATTLimits.maximumValueLength else { throw .tooLong }
        let isCurrent = client.databaseVersion ?? database.history.version == database.history.version
        // Behind Service Changed it waits for the confirmation, which has a time limit.
        guard isCurrent, !waitsForClient else { throw .outOfSync }
        guard let characteristic = database.characteristic(at: handle) else { throw .unknownCharacteristic }
        guard characteristic.properties.contains(kind == .notify ? .notify : .indicate) else { throw .notOffered }
        guard client.wants(kind, of: handle) else { throw .notSubscribed }
        // A bonded client's earlier configuration applies only once the link is sufficiently protected again.
        let refusal = characteristic.subscribing.refusal(security: security, isAuthorized: client.isAuthorized)
        guard refusal != .insufficientAuthorization else { throw .notAuthorized }
        guard refusal == nil else { throw .insufficientSecurity }
    }

    /// The PDU to send next; the same one until ``sent()``. `nil`: nothing for now.
    ///
    /// A driver that passes it to the link without its lock calls ``sending()`` before, and ``sent()`` or ``notSent()``
    /// after.
    package mutating func nextPDU() -> [UInt8]? {
        guard !outbox.isEmpty, !hasEnded else { return nil }
        return outbox.next(mtu: mtu, isExchangingMTU ? .none : isOutOfSync ? .only(caching.indication) : .all)
    }

    /// The PDU that ``nextPDU()`` returned is being passed to the link: the client's answer may come at any time.
    ///
    /// - Returns: the new ATT_MTU if the PDU changes it.
    package mutating func sending() -> Int? {
        guard case .response(let mtu?) = outbox.sending() else { return nil }
        setMTU(mtu)
        return self.mtu
    }

    /// The link has not taken the PDU: ``nextPDU()`` returns it again.
    package mutating func notSent() { outbox.notSent() }

    /// The link has taken the PDU that ``nextPDU()`` returned.
    package mutating func sent() -> Output {
        var output = Output()
        switch outbox.sent() {
        case .nothing, .notification, .response(mtu: nil): break
        case .response(let mtu?):
            setMTU(mtu)
            output.mtu = self.mtu
        case .indication(let id):
            output.timer = .start(id, Self.transactionTimeout)
        }
        output.room = outbox.takeRoom(limits: limits)
        return output
    }

    /// How long a client has to confirm (Vol 3, Part F, 3.3.3).
    private static let transactionTimeout = Duration.seconds(30)

    /// Takes the client's Handle Value Confirmation.
    mutating func confirm(_ pdu: [UInt8], _ output: inout Output) {
        guard pdu.count == 1 else {
            output.notes.append("a confirmation of \(pdu.count) octets was ignored")
            return
        }
        guard let id = outbox.confirm() else {
            output.notes.append("a confirmation without an indication was ignored")
            return
        }
        confirmedByClient(id, &output)
        output.confirmed = [id]
        output.timer = .stop(id)
    }

    /// Some clients answer an indication for which they have no handler with an Error Response. It has arrived, and no
    /// confirmation will follow: the next indication may be sent.
    mutating func confirmByError(_ output: inout Output) {
        guard let id = outbox.confirm() else {
            output.notes.append("an Error Response without an indication was ignored")
            return
        }
        output.notes.append("an indication was answered with an Error Response")
        refusedByClient(id, &output)
        output.confirmed = [id]
        output.timer = .stop(id)
    }
}
