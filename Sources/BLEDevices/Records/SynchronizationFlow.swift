public import BLEStreams

/// One record that a device keeps.
public struct DeviceRecord: Hashable, Sendable {
    /// Its number; later records have greater ones.
    public var number: Int
    /// What it says, as the device sent it.
    public var bytes: [UInt8]

    /// Describes a record.
    public init(number: Int, bytes: [UInt8]) {
        self.number = number
        self.bytes = bytes
    }
}

/// How a device hands out its records.
public protocol RecordTransport: Sendable {
    /// Asks for the records behind a number, and hands each to the closure, in the order in which they come.
    ///
    /// - Parameters:
    ///   - last: the number of the last one that is not wanted any more; `nil`: all are.
    ///   - take: takes one; throwing ends the transport.
    /// - Throws: ``BLEError/Code/disconnected`` when the link is lost: it is asked again on the next one.
    func fetch(after last: Int?, in context: CommandContext, _ take: (DeviceRecord) async throws -> Void) async throws

    /// Tells the device that all records up to a number are safe.
    func acknowledge(upTo last: Int, in context: CommandContext) async throws
}

/// Fetches the records that a device has gathered since the last time: in order, without loss and without repetition.
///
/// A record is acknowledged once the closure has stored it. When the link is lost, and the queue may make another one,
/// the flow goes on behind the last one that was stored; one that comes again is passed over.
///
/// ```swift
/// let flow = SynchronizationFlow(over: RecordAccessControlPoint.glucose, after: 41) { record in
///     print(record.number, record.bytes)
/// }
/// print(try await queue.connecting().run(flow), "records came")
/// ```
public struct SynchronizationFlow: Command {
    public var name: String { "synchronization" }

    private let transport: any RecordTransport
    private let last: Int?
    private let batch: Int
    private let resume: RetryPolicy
    private let store: @Sendable (DeviceRecord) async throws -> Void

    /// Describes a synchronization.
    ///
    /// - Parameters:
    ///   - transport: how the device hands out records.
    ///   - last: the number of the last record that is stored already; `nil`: none is.
    ///   - batch: after how many records the device is told that they are safe; it is told at the end too.
    ///   - resume: how often in a row, without a new record, and after what pause a lost link is made again.
    ///   - store: stores one record; the flow fails when it throws.
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

    /// - Returns: how many records were stored.
    public func run(in context: CommandContext) async throws -> Int {
        var (last, count, acknowledged) = (self.last, 0, self.last)
        try await context.resuming(resume) {
            context.begin("fetch")
            try await transport.fetch(after: last, in: context) { record in
                if let last, record.number <= last { return }
                try await store(record)
                last = record.number
                count += 1
                context.achieved()
                context.progress(count)
                guard count.isMultiple(of: batch) else { return }
                try await transport.acknowledge(upTo: record.number, in: context)
                acknowledged = record.number
            }
            context.begin("acknowledge")
            if let last, last != acknowledged { try await transport.acknowledge(upTo: last, in: context) }
            acknowledged = last
        }
        return count
    }
}
