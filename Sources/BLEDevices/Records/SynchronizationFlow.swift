import BLEProtocol
import BLERadio
public import BLEStreams

/// Fetches the records that a device has collected since the last time: in order, without loss or repetition.
///
/// A record is acknowledged once the closure has stored it. If the link is lost and the queue may reconnect, the flow
/// continues after the last record stored; a repeated record is skipped. A flow that is run again, by
/// ``CommandQueue/retrying(_:when:)`` or later, also continues after the last record that it has stored of that device.
/// If the device only repeats its records, the flow fails with ``BLEError/Code/protocolViolation``.
///
/// If the kernel drops PDUs of the link because it has no room for them, or if the device's services change and its
/// records are subscribed to anew, a record may be missing: no later one is stored, and the flow requests the report
/// again, after the last record stored. It fails with ``BLEError/Code/overflow`` if this happens more often in a row,
/// without a new record, than `resume` allows.
///
/// If the device has begun its numbers anew, as after a reset to its factory settings, it has no record after the last
/// one stored. The flow asks a device without new records for its latest one, and fails with
/// ``BLEError/Code/recordsReset`` if that has a lower number: a new flow with `after: nil` fetches the records. Once
/// the numbers have passed the last one again, nothing shows the reset: synchronize often enough to notice it before.
///
/// Of a device that sends later records first, the flow keeps a whole report, and stores it in order when it has come:
/// if the link is lost before, it requests the report again. ``BLEError/Code/overflow`` tells of one that has more than
/// 16 MiB. With a batch of one, which the device may wait for, each record is stored as it comes. An earlier record
/// that comes for the first time behind a stored one is a ``BLEError/Code/protocolViolation``.
///
/// Synchronizations of one device take turns, in whichever queues they are run: each has exclusive use of the link.
/// ``CommandQueue/connecting(timeout:then:)`` limits how long one waits for its turn. A run that has lost its link
/// still stores what came before. Another run of the same flow that has the next link waits for that, as long
/// as it takes; only a deadline, or ``Command/timeout(_:)``, limits it.
///
/// ```swift
/// let flow = SynchronizationFlow(over: RecordAccessControlPoint.glucose, after: 41) { record in
///     print(record.number, record.bytes)
/// }
/// print(try await queue.connecting().run(flow), "records stored")
/// ```
public struct SynchronizationFlow: Command {
    public var name: String { "synchronization" }

    private let transport: any RecordTransport
    private let last: Int?
    private let batch: Int
    private let resume: RetryPolicy
    private let places = FlowMemory<Place>()
    private let turns = FlowTurns()
    private let store: @Sendable (DeviceRecord) async throws -> Void

    /// Describes a synchronization.
    ///
    /// - Parameters:
    ///   - transport: how the device transfers records.
    ///   - last: the number of the last record already stored; `nil` if there is none.
    ///   - batch: after how many records an acknowledgement is sent; another one is sent at the end.
    ///   - resume: how often in a row, without a new record, and after what pause to reconnect when the link is lost,
    ///     or to request a report again that may lack a record.
    ///   - store: stores one record; if it throws, the flow fails.
    public init(
        over transport: some RecordTransport,
        after last: Int?,
        batch: Int = 64,
        resume: RetryPolicy = .exponential(attempts: 8),
        store: @escaping @Sendable (DeviceRecord) async throws -> Void
    ) {
        self.transport = transport
        self.last = last
        self.batch = max(1, batch)
        self.resume = resume
        self.store = store
    }

    /// - Returns: how many records were stored, including those of earlier attempts that failed.
    public func run(in context: CommandContext) async throws -> Int {
        var known: Place?
        return try await context.resuming(resume) {
            let device = places.name(of: context.linkedPeripheral)
            // One that has lost its link may still store what came before: only then is it known where to go on.
            return try await turns.alone(with: device, in: context) {
                try await run(on: device, &known, in: context)
            }
        }
    }

    /// Fetches and stores the new records on the present link.
    ///
    /// - Parameters:
    ///   - device: the address by which the device is remembered.
    ///   - known: how far this run has come.
    private func run(
        on device: BluetoothAddress,
        _ known: inout Place?,
        in context: CommandContext
    ) async throws -> Int {
        // On another link, a device that a session has found again may have another address.
        var place = known ?? places[device] ?? Place(last: last, acknowledged: last)
        // While this run had no link, another one of the same flow may have had it, in another queue.
        place.follow(places[device])
        func note(_ place: Place) { (known, places[device]) = (place, place) }
        context.begin("fetch")
        try await fetchAll(from: &place, in: context, note)
        context.begin("acknowledge")
        if let last = place.last, last != place.acknowledged {
            try await transport.acknowledge(upTo: last, in: context)
        }
        places[device] = Place(last: place.last, acknowledged: place.last)
        return place.count
    }

    /// Fetches and stores the records behind this place, and requests a report that may lack one again.
    ///
    /// - Parameter note: takes note of each place that is reached.
    private func fetchAll(from place: inout Place, in context: CommandContext, _ note: (Place) -> Void) async throws {
        var losses = 0
        let beginning = place.last
        while true {
            let (last, reception) = (place.last, try Reception(in: context))
            var isKeeping = false
            do {
                try await fetch(after: last, reception, in: context) { record in
                    isKeeping = true
                    try await keep(record, &place, in: context, note)
                    isKeeping = false
                }
                if let beginning, place.last == beginning {
                    try await checkNumbers(upTo: beginning, reception, context)
                }
                return
            } catch let error where !isKeeping && reception.isWhy(error) {
                losses = place.last == last ? losses + 1 : 1
                guard let delay = resume.delay(afterFailure: losses, random: context.timeline.randomBits()) else {
                    throw BLEError.lossy(losses, reception, context)
                }
                try await pause(for: delay, on: context.timeline)
                // What is left of this report would be taken for the next one.
                while context.available() != nil {}
            }
        }
    }

    /// Stores a record, unless it is stored already, and acknowledges a full batch.
    private func keep(
        _ record: DeviceRecord,
        _ place: inout Place,
        in context: CommandContext,
        _ note: (Place) -> Void
    ) async throws {
        if let last = place.last, record.number <= last { return }
        try await store(record)
        place.last = record.number
        place.count += 1
        note(place)
        context.achieved()
        context.progress(place.count)
        guard place.count.isMultiple(of: batch) else { return }
        try await transport.acknowledge(upTo: record.number, in: context)
        place.acknowledged = record.number
        note(place)
    }

    /// Fetches one report, and passes on the records that may be stored, in their order.
    private func fetch(
        after last: Int?,
        _ reception: Reception,
        in context: CommandContext,
        _ keep: (DeviceRecord) async throws -> Void
    ) async throws {
        var order = RecordOrder()
        var reported = ReportedRecords(after: last, isImpatient: batch == 1)
        try await transport.fetch(after: last, in: context) { record in
            try reception.expectAll()
            try order.take(record.number, context)
            guard try reported.take(record, context) else { return }
            for earlier in reported.release() { try await keep(earlier) }
            try await keep(record)
        }
        try reception.expectAll()
        for record in reported.release() { try await keep(record) }
    }

    /// Throws if a device without new records has begun its numbers anew: an acknowledgement would then be taken for
    /// records that nobody has stored.
    private func checkNumbers(upTo last: Int, _ reception: Reception, _ context: CommandContext) async throws {
        guard let latest = try await transport.latest(upTo: last, in: context), latest < last else { return }
        // The latest one may be what is missing.
        try reception.expectAll()
        throw BLEError(
            .recordsReset,
            operation: "synchronization",
            object: "of records of \(context.peripheral)",
            cause: "the latest record of the device has number \(latest), and record \(last) is stored already: the "
                + "device was reset and has begun its numbers anew, or it is another device",
            remedy: "Run a new flow with `after: nil`, and keep its records apart from those stored so far, whose "
                + "numbers come again: this flow would pass over them."
        )
    }
}

/// How far a synchronization has come with one device.
private struct Place {
    /// The last record stored, and the last one acknowledged.
    var last: Int?
    var acknowledged: Int?
    /// How many records were stored since it last came to its end.
    var count = 0

    /// Goes on behind what another run has stored, if that is more.
    mutating func follow(_ other: Place?) {
        guard let other, let further = other.last, last.map({ $0 < further }) ?? true else { return }
        (last, acknowledged) = (further, other.acknowledged)
    }
}

/// Whether all that the device has sent since a moment has arrived. The kernel tells only how many PDUs it has dropped:
/// each of them may have been a record. While a subscription is made anew, nobody knows what would have come.
private struct Reception {
    /// A record may be missing.
    private struct Loss: Error {}

    private let link: Link
    private let dropped: Int
    private let moved: Int

    init(in context: CommandContext) throws {
        link = try context.link
        dropped = link.droppedPDUs
        moved = link.movedSubscriptions
    }

    /// Whether the kernel has dropped something.
    var hasDropped: Bool { link.droppedPDUs != dropped }

    private var isWhole: Bool { !hasDropped && link.movedSubscriptions == moved }

    func expectAll() throws { if !isWhole { throw Loss() } }

    /// Whether a report has ended with this error because of what is missing, which may have been its end.
    func isWhy(_ error: any Error) -> Bool {
        if error is Loss { return true }
        return (error as? BLEError)?.code == .timedOut && !isWhole
    }
}

extension BLEError {
    /// - Parameter last: what became of the last report.
    fileprivate static func lossy(_ count: Int, _ last: Reception, _ context: CommandContext) -> BLEError {
        let reports = count == 1 ? "a report" : "\(count) reports in a row"
        var cause = "the device's services changed during \(reports), and records may have been sent meanwhile"
        var remedy = "Wait until the device no longer changes its services."
        if last.hasDropped {
            cause = "the kernel has dropped PDUs of the link in \(reports), and each may have been a record"
            remedy =
                "Reduce the load of this machine, and don't block in an EventHandler, which delays the thread that "
                + "reads the adapter's links."
        }
        return BLEError(
            .overflow,
            operation: "synchronization",
            object: "of records of \(context.peripheral)",
            cause: cause,
            remedy: remedy + " Then run the flow again: it continues after the last record stored."
        )
    }
}
