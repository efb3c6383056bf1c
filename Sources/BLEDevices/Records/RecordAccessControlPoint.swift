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

    private enum Octet {
        static let reportRecords: UInt8 = 0x01
        static let abortOperation: UInt8 = 0x03
        static let response: UInt8 = 0x06
        static let null: UInt8 = 0x00
        static let allRecords: UInt8 = 0x01
        static let greaterOrEqual: UInt8 = 0x03
        static let sequenceNumber: UInt8 = 0x01
        static let success: UInt8 = 0x01
        static let noRecords: UInt8 = 0x06
    }

    public func fetch(
        after last: Int?,
        in context: CommandContext,
        _ take: (DeviceRecord) async throws -> Void
    ) async throws {
        // Numbers have two octets: no number follows the last one.
        if let last, last >= Int(UInt16.max) { return }
        try await context.subscribe(to: records)
        try await context.subscribe(to: controlPoint, indications: true)
        defer {
            context.unsubscribe(from: controlPoint)
            context.unsubscribe(from: records)
        }
        do {
            try await context.write(request(after: last), to: controlPoint)
        } catch let error as CancellationError {
            // The request may have been sent nevertheless.
            await abort(in: context)
            throw error
        }
        var isReporting = true
        do {
            while isReporting {
                let (value, source) = try await context.value(timeout: patience)
                if source == controlPoint {
                    guard try isAboutReport(value, context) else { continue }
                    isReporting = false
                    try check(value[3], context)
                } else if source == records {
                    try await take(record(value, context))
                }
            }
        } catch {
            if isReporting { await abort(in: context) }
            throw error
        }
    }

    /// Makes the device stop reporting, and waits for its answer.
    private func abort(in context: CommandContext) async {
        await context.conclude([Octet.abortOperation, Octet.null], on: controlPoint, limit: Self.abortLimit) { value in
            value.count >= 3 && value[0] == Octet.response && value[2] == Octet.abortOperation
        }
    }

    /// Does nothing: the control point has no acknowledgement, and records stay until somebody deletes them.
    public func acknowledge(upTo last: Int, in context: CommandContext) async throws {}

    private func request(after last: Int?) -> [UInt8] {
        guard let last else { return [Octet.reportRecords, Octet.allRecords] }
        let first = UInt16(clamping: last + 1)
        return [
            Octet.reportRecords, Octet.greaterOrEqual, Octet.sequenceNumber,
            UInt8(truncatingIfNeeded: first), UInt8(truncatingIfNeeded: first >> 8),
        ]
    }

    private func record(_ value: CharacteristicValue, _ context: CommandContext) throws -> DeviceRecord {
        guard value.count >= numberOffset + 2 else {
            throw BLEError.record(context, value, "it ends before its sequence number")
        }
        let number = Int(value[numberOffset]) | Int(value[numberOffset + 1]) << 8
        return DeviceRecord(number: number, bytes: Array(value))
    }

    /// Whether the value is the control point's answer that the report has ended, successfully or not.
    private func isAboutReport(_ value: CharacteristicValue, _ context: CommandContext) throws -> Bool {
        guard value.count >= 4, value[0] == Octet.response else {
            throw BLEError.record(context, value, "it is not an answer of the control point")
        }
        return value[2] == Octet.reportRecords
    }

    /// The meaning of a response code (GATT Specification Supplement, "Record Access Control Point").
    private static func words(for code: UInt8) -> String {
        let words: [UInt8: String] = [
            2: "operation not supported", 3: "invalid operator", 4: "operator not supported", 5: "invalid operand",
            7: "abort unsuccessful", 8: "procedure not completed", 9: "operand not supported",
        ]
        return words[code].map { "\($0) (code \(code))" } ?? "code \(code)"
    }

    /// Throws if the device reports an error.
    private func check(_ code: UInt8, _ context: CommandContext) throws {
        guard code != Octet.success, code != Octet.noRecords else { return }
        throw BLEError(
            .attributeError,
            operation: "synchronization",
            object: "of records of \(context.peripheral)",
            cause: "the control point answers: \(Self.words(for: code))",
            remedy: "Check that the device reports records by their sequence numbers."
        )
    }
}
