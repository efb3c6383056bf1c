import BLEProtocol
public import BLEStreams

/// Records over two plain characteristics.
///
/// | characteristic | properties | octets, numbers least significant octet first |
/// |---|---|---|
/// | control | write | report from: `01`, first number (4); stored: `02`, last number (4) |
/// | records | notify | number (4), the record; number `FFFFFFFF` alone: end |
///
/// A report has the records from the requested number on, the lowest number first. The device sends one at a time: a
/// new request ends the report under way, or is answered behind it. A report ends with its link.
///
/// No command ends a report. If a flow ends before its report, the device may go on sending, and what nobody hears is
/// lost: no later flow on that link may take the rest for its own report. Each passes over all records until the one
/// with the requested number comes; if the end comes first, it requests its report once more, and takes that. If
/// several reports were left, what it takes then may be another one of them. That report lacks no record if it begins
/// at the requested number or before, as it does where each flow goes on from the last stored record.
public struct PlainRecordTransport: RecordTransport {
    private let control: CharacteristicReference
    private let records: CharacteristicReference
    private let patience: Duration

    /// Describes the characteristics, and how long the device may stay silent.
    public init(
        control: some CharacteristicKey,
        records: some CharacteristicKey,
        patience: Duration = .seconds(20)
    ) {
        self.control = control.reference
        self.records = records.reference
        self.patience = patience
    }

    public func fetch(
        after last: Int?,
        in context: CommandContext,
        _ take: (DeviceRecord) async throws -> Void
    ) async throws {
        // The greatest number marks the end: none follows the one before it.
        if let last, last >= Int(UInt32.max) - 1 { return }
        let first = UInt32(clamping: last.map { $0 + 1 } ?? 0)
        let request = Self.command(1, first)
        try await context.subscribe(to: records)
        defer { context.unsubscribe(from: records) }
        let isAlone = try context.beginReport(of: records)
        // What came before the request belongs to another report.
        if !isAlone { while context.available() != nil {} }
        try await context.write(request, to: control)
        // Whether what comes now follows the requested number without a hole.
        var isGapless = isAlone
        // Of the records that are passed over.
        var order = RecordOrder()
        while true {
            let (value, source) = try await context.value(timeout: patience)
            guard source == records else { continue }
            var reader = ByteReader(value.bytes)
            guard let number = reader.uint32() else {
                throw BLEError.record(context, value, "it has \(value.count) octets, and needs at least four")
            }
            if number == .max {
                if isGapless {
                    if isAlone { context.endReport(of: records) }
                    return
                }
                // It may be the end of the other report: what follows is all of this one, or of its repetition. If
                // several were left, it may be all of another one, which has the same records and perhaps earlier ones.
                isGapless = true
                try await context.write(request, to: control)
                continue
            }
            isGapless = isGapless || number == first
            if isGapless {
                try await take(DeviceRecord(number: Int(number), bytes: Array(reader.rest())))
            } else {
                try order.take(Int(number), context)
            }
        }
    }

    public func acknowledge(upTo last: Int, in context: CommandContext) async throws {
        try await context.write(Self.command(2, UInt32(clamping: last)), to: control)
    }

    public func latest(upTo last: Int, in context: CommandContext) async throws -> Int? {
        guard last > 0, last < Int(UInt32.max) - 1 else { return nil }
        // A device that keeps its records still has the last one: only of another one are all records requested.
        for start in [last - 1, nil] as [Int?] {
            var order = RecordOrder()
            try await fetch(after: start, in: context) { try order.take($0.number, context) }
            if let latest = order.latest { return latest }
        }
        return nil
    }

    private static func command(_ code: UInt8, _ number: UInt32) -> [UInt8] {
        var writer = ByteWriter(capacity: 5)
        writer.uint8(code)
        writer.uint32(number)
        return writer.bytes
    }
}

extension BLEError {
    static func record(_ context: CommandContext, _ value: CharacteristicValue, _ cause: String) -> BLEError {
        var error = BLEError(
            .malformedValue,
            operation: "synchronization",
            object: "of a record of \(context.peripheral)",
            cause: cause,
            remedy: "Check that the peripheral follows the specification of this characteristic."
        )
        error.received = Array(value)
        return error
    }
}
