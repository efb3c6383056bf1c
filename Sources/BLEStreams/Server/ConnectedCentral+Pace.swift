import BLEProtocol

extension ConnectedCentral {
    /// The counts of its notifications since it connected: each was sent, was dropped or is waiting. After it has left,
    /// none is waiting.
    public var notifications: PeripheralServer.NotificationCounters {
        PeripheralServer.NotificationCounters(bearer.serve { server, _ in server.notificationCounts })
    }

    /// Queues a notification where the policy has room for it.
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

    /// Counts a value that it was given up to queue.
    func countDropped() { counting { server, _ in server.countDropped() } }

    /// Does something with the server half, and tells whoever watches where it fell behind by that.
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

    /// Tells whoever watches whether it is behind.
    func tellBacklog() { backlogs.note(self, bearer.serve { server, _ in server.notificationCounts }) }
}

extension BufferPolicy {
    /// The same for the machine; what is too much for `.fail` the program is told.
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
