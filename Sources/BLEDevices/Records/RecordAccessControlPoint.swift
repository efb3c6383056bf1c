public import BLEProtocol
public import BLEStreams

/// Fetches records with the Record Access Control Point of the Glucose Service and others.
///
/// If the flow is cancelled or replaced, or can't store a record, it aborts the report, so that the next flow finds the
/// device idle. It waits at most 5 s for the answer to the abort.
///
/// Source: GATT Specification Supplement, "Record Access Control Point"; Glucose Service 1.0.1, 3.4.
public struct RecordAccessControlPoint: RecordTransport {
    private let controlPoint: CharacteristicReference
    private let records: CharacteristicReference
    /// The offset of the number within a record.
    private let numberOffset: Int
    private let patience: Duration

    /// How long to wait for the answer to an abort: short, since the flow was cancelled.
    private static let abortLimit = Duration.seconds(5)

    /// Describes the service's characteristics.
    ///
    /// - Parameters:
    ///   - records: the characteristic that notifies records.
    ///   - numberOffset: the offset within a record of its sequence number, two octets.
    ///   - controlPoint: the control point; by default 2A52.
    ///   - patience: how long the device may stay silent.
    public init(
        records: some CharacteristicKey,
        numberOffset: Int,
        controlPoint: some CharacteristicKey = BluetoothUUID(0x2A52),
        patience: Duration = .seconds(20)
    ) {
        self.controlPoint = controlPoint.reference
        self.records = records.reference
        self.numberOffset = numberOffset
        self.patience = patience
    }

    /// The measurements of a glucose meter: 2A18; an octet of flags precedes the number.
    public static let glucose = RecordAccessControlPoint(records: BluetoothUUID(0x2A18), numberOffset: 1)

    public func fetch(
        after last: Int?,
        in context: CommandContext,
        _ take: (DeviceRecord) async throws -> Void
    ) async throws {
        // Numbers have two octets: no number follows the last one.
        if let last, last >= Int(UInt16.max) { return }
        let selection = last.map { RecordAccess.Selection.from(.number(max(0, $0 + 1))) } ?? .all
        try check(try await report(selection, in: context, take), context)
    }

    public func latest(upTo last: Int, in context: CommandContext) async throws -> Int? {
        guard last > 0 else { return nil }
        var order = RecordOrder()
        do {
            let outcome = try await report(.last, in: context) { try order.take($0.number, context) }
            return outcome == .success ? order.latest : nil
        } catch let error as BLEError where error.code == .timedOut || error.code == .attributeError {
            // It may not know the operator, and not answer to it, or refuse the request itself.
            return nil
        }
    }

    /// Requests records, passes each to the closure, and returns how the report has ended.
    private func report(
        _ selection: RecordAccess.Selection,
        in context: CommandContext,
        _ take: (DeviceRecord) async throws -> Void
    ) async throws -> RecordAccess.Outcome {
        try await context.subscribe(to: records)
        try await context.subscribe(to: controlPoint, indications: true)
        defer {
            context.unsubscribe(from: controlPoint)
            context.unsubscribe(from: records)
        }
        // What came before the request belongs to another report, as that of an earlier program on the same link.
        while context.available() != nil {}
        do {
            try await context.write(try Self.octets(of: .report(selection)), to: controlPoint)
        } catch let error as CancellationError {
            // The request may have been sent nevertheless.
            await abort(in: context)
            throw error
        }
        do {
            while true {
                let (value, source) = try await context.value(timeout: patience)
                if source == controlPoint {
                    if let outcome = try outcome(value, context) { return outcome }
                } else if source == records {
                    try await take(record(value, context))
                }
            }
        } catch {
            await abort(in: context)
            throw error
        }
    }

    private static func octets(of command: RecordAccess) throws -> [UInt8] {
        try TypedCharacteristic.recordAccessControlPoint.octets(of: command)
    }

    /// The command and the outcome of a control point's answer; `nil` if the value is another one.
    private static func answer(_ value: CharacteristicValue) -> (command: UInt8, outcome: RecordAccess.Outcome)? {
        let answer = try? TypedCharacteristic.recordAccessControlPoint.value(of: value)
        switch answer {
        case .response(let command, let outcome)?: return (command, outcome)
        // The number of records is the answer to its request, in the place of an outcome.
        case .count?: return (RecordAccess.requestCount(.all).number, .success)
        default: return nil
        }
    }

    /// Makes the device stop reporting, and waits for its answer.
    private func abort(in context: CommandContext) async {
        guard let octets = try? Self.octets(of: .abort) else { return }
        await context.conclude(octets, on: controlPoint, limit: Self.abortLimit) { value in
            Self.answer(value)?.command == RecordAccess.abort.number
        }
    }

    /// Does nothing: the control point has no acknowledgement, and records stay until somebody deletes them.
    public func acknowledge(upTo last: Int, in context: CommandContext) async throws {}

    private func record(_ value: CharacteristicValue, _ context: CommandContext) throws -> DeviceRecord {
        guard value.count >= numberOffset + 2 else {
            throw BLEError.record(context, value, "it ends before its sequence number")
        }
        let number = Int(value[numberOffset]) | Int(value[numberOffset + 1]) << 8
        return DeviceRecord(number: number, bytes: Array(value))
    }

    /// How the report has ended; `nil` if the value answers another command.
    private func outcome(_ value: CharacteristicValue, _ context: CommandContext) throws -> RecordAccess.Outcome? {
        guard let (command, outcome) = Self.answer(value) else {
            throw BLEError.record(context, value, "it is not an answer of the control point")
        }
        return command == RecordAccess.report(.all).number ? outcome : nil
    }

    /// Throws if the device reports an error.
    private func check(_ outcome: RecordAccess.Outcome, _ context: CommandContext) throws {
        guard outcome != .success, outcome != .noRecords else { return }
        throw BLEError(
            .attributeError,
            operation: "synchronization",
            object: "of records of \(context.peripheral)",
            cause: "the control point answers: \(outcome) (code \(outcome.rawValue))",
            remedy: outcome == .notCompleted
                ? "Run the flow again when the device is not in use: it continues after the last record stored."
                : "Check that the device reports records by their sequence numbers."
        )
    }
}
