import BLEProtocol

extension ConnectedCentral {
    /// The counts of its notifications since it connected: each was sent, was dropped or is waiting. After the central
    /// has left, none is waiting.
    public var notifications: PeripheralServer.NotificationCounters {
        PeripheralServer.NotificationCounters(bearer.serve { server, _ in server.notificationCounts })
    }

    /// Queues a notification if the policy has room for it.
    func notify(
        _ handle: UInt16,
        _ value: [UInt8],
        _ buffer: BufferPolicy,
        object: String
    ) -> Result<PeripheralServer.NotificationOutcome, BLEError> {
        let result = attempt { server, database throws(ATTServer.SendRefusal) in
            let queued = try server.notify(handle, value, buffer.bound, database: database)
            return (queued: queued, sent: min(value.count, server.maximumValueLength))
        }
        switch result {
        case .success(let (queued, sent)) where queued.isQueued:
            return .success(PeripheralServer.NotificationOutcome(self, sent, of: value.count, dropped: queued.dropped))
        case .success(let (queued, _)):
            return .success(
                PeripheralServer.NotificationOutcome(self, failed: .noRoom(buffer, object), dropped: queued.dropped)
            )
        case .failure(let refusal): return .failure(refused(refusal, operation: "notify", object: object))
        }
    }

    /// Counts a value that was never queued as dropped.
    func countDropped() { counting { server, _ in server.countDropped() } }

    /// Changes the server half, and tells the watchers if the central fell behind because of it.
    func counting<Output>(_ action: (inout ATTServer, AttributeDatabase) -> Output) -> Output {
        let (output, counts) = bearer.serve { server, database in
            let changes = server.notificationCounts.changes
            let output = action(&server, database)
            let counts = server.notificationCounts
            return (output, counts.changes == changes ? nil : counts)
        }
        if let counts { backlogs.note(self, counts) }
        return output
    }

    /// Tells the watchers whether it is behind.
    func tellBacklog() { backlogs.note(self, bearer.serve { server, _ in server.notificationCounts }) }
}

extension BufferPolicy {
    /// The same for the machine; with `.fail`, the program is told of a value that doesn't fit.
    fileprivate var bound: ATTServer.Bound {
        switch self {
        case .unbounded: .unbounded
        case .newest: .newest(capacity)
        case .oldest, .fail: .oldest(capacity)
        }
    }
}

extension BLEError {
    fileprivate static func noRoom(_ buffer: BufferPolicy, _ object: String) -> BLEError {
        BLEError(
            .overflow,
            operation: "notify",
            object: object,
            cause: "\(buffer.capacity) of its values are already waiting for the central, so this one is dropped",
            remedy: "Send less often, keep the newest with BufferPolicy.newest(_:), or wait with notify(_:of:to:)."
        )
    }
}
