import BLEProtocol
import BLERadio
import Synchronization

extension ConnectedCentral {
    /// How many octets of a value were sent, or will be.
    typealias Sent = Int

    /// How long one central's full queue may delay a value that is sent to all.
    private static let patience = Duration.seconds(10)

    /// How long to leave a central alone that has taken nothing, before the radio is tried again.
    private static let pause = Duration.seconds(1)

    /// How it was when a caller had waited in vain.
    struct Stuck {
        /// How many values the radio had taken.
        let taken: Int
        /// When the radio was last tried.
        var tried: Duration
    }

    /// Queues a notification; waits while the queue of this central is full.
    func notify(_ handle: UInt16, _ value: [UInt8], object: String) async throws -> Sent {
        try await queue(object) { server, database throws(ATTServer.SendRefusal) in
            try server.notify(handle, value, database: database)
            return min(value.count, server.maximumValueLength)
        }
    }

    /// Queues a notification if there is room; otherwise fails with `full`, and the caller waits.
    func notifyAtOnce(_ handle: UInt16, _ value: [UInt8]) -> Result<Sent, ATTServer.SendRefusal> {
        attempt { server, database throws(ATTServer.SendRefusal) in
            try server.notify(handle, value, database: database)
            return min(value.count, server.maximumValueLength)
        }
    }

    /// Queues a notification that is sent to others too: waits while the queue is full, but for a central that takes
    /// nothing only up to a limit, and not again before it takes something.
    func notifyAmongOthers(_ handle: UInt16, _ value: [UInt8], object: String) async throws -> Sent {
        let slow: @Sendable () -> any Error = {
            BLEError(
                .overflow,
                operation: "notify",
                object: object,
                cause:
                    "the central has taken nothing for \(Self.patience.components.seconds) s, so it gets no value "
                    + "sent to all until it does",
                remedy: "Wait until it takes values again, or drop its link with ConnectedCentral.disconnect()."
            )
        }
        while true {
            if isStuck() {
                countDropped()
                throw slow()
            }
            // The radio may have had room before, of which it tells only when half of it is free: from now on, what it
            // takes is what the central takes.
            bearer.sendAgain()
            let taken = notifications.sent
            do {
                return try await queue(object, limit: (Self.patience, slow)) {
                    server,
                    database throws(ATTServer.SendRefusal) in
                    try server.notify(handle, value, database: database)
                    return min(value.count, server.maximumValueLength)
                }
            } catch let error as BLEError where error.code == .overflow {
                // The queue, too, tells of room only when half of it is free: a slow central may have taken some.
                // Whoever else is handing over a PDU at this moment may learn that.
                guard notifications.sent == taken, bearer.sendAgain(), notifications.sent == taken else { continue }
                let now = bearer.timeline.now
                state.withLock { $0.notifications.stuck = Stuck(taken: taken, tried: now) }
                countDropped()
                throw error
            }
        }
    }

    /// Whether a caller has waited in vain since the radio took its last value. The radio may have room since then, and
    /// not tell: it is tried from time to time.
    private func isStuck() -> Bool {
        guard let stuck = state.withLock({ $0.notifications.stuck }), stuck.taken == notifications.sent else {
            return false
        }
        let now = bearer.timeline.now
        guard now - stuck.tried >= Self.pause else { return true }
        state.withLock { $0.notifications.stuck?.tried = now }
        bearer.sendAgain()
        return notifications.sent == stuck.taken
    }

    /// Queues notifications of several characteristics; waits while the queue of this central is full.
    func notify(_ values: [(handle: UInt16, value: [UInt8])], object: String) async throws -> Sent {
        try await queue(object) { server, database throws(ATTServer.SendRefusal) in
            try server.notify(values, database: database)
            return values.reduce(0) { $0 + min($1.value.count, server.maximumValueLength) }
        }
    }

    /// Calls an action of the server half that may be refused.
    ///
    /// The link may have been encrypted since the central's last PDU without a report: if it isn't secure enough, the
    /// radio is asked. Another thread may just be replacing the services: the central is told of that first.
    func attempt<Output>(
        _ action: (inout ATTServer, AttributeDatabase) throws(ATTServer.SendRefusal) -> Output
    ) -> Result<Output, ATTServer.SendRefusal> {
        func once() -> Result<Output, ATTServer.SendRefusal> {
            counting { server, database in
                do throws(ATTServer.SendRefusal) {
                    return .success(try action(&server, database))
                } catch {
                    return .failure(error)
                }
            }
        }
        let first = once()
        switch first {
        case .failure(.insufficientSecurity): bearer.refreshSecurity()
        case .failure(.outOfSync): bearer.synchronize()
        default: return first
        }
        return once()
    }

    func queue(
        _ object: String,
        operation: String = "notify",
        limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
        _ add: (inout ATTServer, AttributeDatabase) throws(ATTServer.SendRefusal) -> Sent
    ) async throws -> Sent {
        while true {
            let seen = state.withLock { $0.notifications.news }
            switch attempt(add) {
            case .success(let sent): return sent
            case .failure(.full): try await room(\.notifications, after: seen, limit: limit)
            case .failure(let refusal): throw refused(refusal, operation: operation, object: object)
            }
        }
    }

    /// Queues an indication and waits until the central has confirmed it.
    func indicate(_ handle: UInt16, _ value: [UInt8], object: String) async throws -> Sent {
        while true {
            let seen = state.withLock { $0.indications.news }
            let sent = Mutex(0)
            let outcome: Result<Bool, ATTServer.SendRefusal> = try await reply(on: bearer.timeline) { finish in
                let queued = self.attempt { server, database throws(ATTServer.SendRefusal) in
                    let id = try server.indicate(handle, value, database: database)
                    let count = min(value.count, server.maximumValueLength)
                    sent.withLock { $0 = count }
                    self.state.withLock { $0.confirmations[id] = { finish(.success(.success($0))) } }
                }
                if case .failure(let refusal) = queued { finish(.success(.failure(refusal))) }
                return {}
            }
            switch outcome {
            case .success(true): return sent.withLock { $0 }
            case .success(false):
                // The bearer knows first: the link may still be closing.
                if let end = bearer.end {
                    throw BLEError.centralLeft(end, operation: "indicate", object: object)
                }
                let refusal = bearer.serve { server, database -> ATTServer.SendRefusal in
                    // Its subscription has ended with it.
                    if database.characteristic(at: handle) == nil { return .unknownCharacteristic }
                    return server.isOutOfSync && server.client.wants(.indicate, of: handle)
                        ? .outOfSync : .notSubscribed
                }
                throw refused(refusal, operation: "indicate", object: object)
            case .failure(.full): try await room(\.indications, after: seen)
            case .failure(let refusal): throw refused(refusal, operation: "indicate", object: object)
            }
        }
    }

    func room(
        _ board: any WritableKeyPath<State, RoomBoard> & Sendable,
        after seen: Int,
        limit: (duration: Duration, error: @Sendable () -> any Error)? = nil
    ) async throws {
        try await reply(on: bearer.timeline, limit: limit) {
            (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
            let id: Int? = self.state.withLock { state in
                guard state[keyPath: board].news == seen, state.end == nil else { return nil }
                return state[keyPath: board].waiters.add { finish(.success(())) }
            }
            guard let id else {
                finish(.success(()))
                return {}
            }
            return { _ = self.state.withLock { $0[keyPath: board].waiters.remove(id) } }
        }
    }

    /// The error of a refusal.
    func refused(_ refusal: ATTServer.SendRefusal, operation: String, object: String) -> BLEError {
        switch refusal {
        case .closed:
            .centralLeft(
                // The bearer knows first: the link may still be closing.
                bearer.end ?? state.withLock { $0.end } ?? DisconnectReason(.other),
                operation: operation,
                object: object
            )
        case .notOffered: .notOffered(operation, object)
        case .tooLong: .valueTooLong(operation, object)
        case .notSubscribed:
            BLEError(
                .notSupported,
                operation: operation,
                object: object,
                cause:
                    "the central has not subscribed to its "
                    + (operation == "indicate" ? "indications" : "notifications"),
                remedy:
                    "Send after the central has subscribed to them: PeripheralServer.subscriptions(of:) reports that, "
                    + "with its kind."
            )
        case .brokenOff:
            BLEError(
                .notSupported,
                operation: operation,
                object: object,
                cause: "the central unsubscribed before it had all of it",
                remedy:
                    "Send it again from its beginning when the central has subscribed again: "
                    + "PeripheralServer.subscriptions(of:) reports it."
            )
        case .displaced:
            BLEError(
                .overflow,
                operation: operation,
                object: object,
                cause:
                    "chunks of the message were dropped for newer values of the same characteristic, which were sent "
                    + "meanwhile with BufferPolicy.newest(_:)",
                remedy:
                    "Use another characteristic for such values, or send none of them while a message is being sent."
            )
        case .narrowed:
            BLEError(
                .overflow,
                operation: operation,
                object: object,
                cause:
                    "the central has agreed on a smaller MTU since the beginning, so parts of it that waited may have "
                    + "been cut",
                remedy:
                    "Drop the link with ConnectedCentral.disconnect(), and send it again from its beginning when the "
                    + "central has subscribed again."
            )
        case .insufficientSecurity:
            BLEError(
                .permissionDenied,
                operation: operation,
                object: object,
                cause: "the link is less secure than the characteristic requires",
                remedy: "Let the central pair first, or declare the characteristic with a lower access requirement."
            )
        case .notAuthorized:
            BLEError(
                .permissionDenied,
                operation: operation,
                object: object,
                cause: "the program has not authorized the central, which the characteristic requires",
                remedy: "Set ConnectedCentral.isAuthorized first, on each of its links anew."
            )
        case .outOfSync:
            BLEError(
                .busy,
                operation: operation,
                object: object,
                cause: "the central has not yet learned that the services changed, and receives nothing until it has",
                remedy: "Send again later: the central discovers the new services when it next uses the link."
            )
        case .full:
            BLEError(
                .busy,
                operation: operation,
                object: object,
                cause: "the central's queue is full",
                remedy: "Send again later: the queue has room when the central has taken values."
            )
        case .unknownCharacteristic:
            BLEError(
                .notFound,
                operation: operation,
                object: object,
                cause: "the characteristic no longer exists",
                remedy: "Send only values of characteristics that the current services declare."
            )
        }
    }
}

extension BLEError {
    /// The error of a link to a central that has ended, or that this side gives up. A peripheral can't make another
    /// link: only the central can connect again.
    static func centralLeft(_ reason: DisconnectReason, operation: String, object: String) -> BLEError {
        var error = linkEnded(reason, operation: operation, object: object)
        error.remedy = remedyOfCentralGone
        return error
    }

    /// What to do with a value or a message when there is no link to its central any more.
    static let remedyOfCentralGone =
        "Send it again when the central has connected and subscribed again: PeripheralServer.subscriptions(of:) "
        + "reports it."

    /// The error of a value that is too long for any PDU.
    ///
    /// - Parameter limit: what to do with one that centrals read: it can't simply be sent; `nil` if it was to be sent.
    static func valueTooLong(_ operation: String, _ object: String, limit: String? = nil) -> BLEError {
        let inParts = "PeripheralServer.send(_:of:to:endingWith:beginsAnew:onProgress:)."
        return BLEError(
            .overflow,
            operation: operation,
            object: object,
            cause: "the value exceeds 512 octets, the limit of an attribute value",
            remedy: limit.map { "\($0) Longer ones are sent in parts, by a characteristic with .notify: \(inParts)" }
                ?? "Send it in parts: \(inParts)"
        )
    }

    static func notOffered(_ operation: String, _ object: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: object,
            cause: "the characteristic was declared without the required property, so no central can subscribe",
            remedy: operation == "indicate" ? "Declare it with .indicate." : "Declare it with .notify."
        )
    }
}
