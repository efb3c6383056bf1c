public import BLEProtocol

/// Records by the Record Access Control Point of the Glucose and other services.
///
/// Source: GATT Specification Supplement, "Record Access Control Point"; Glucose Service 1.0.1, 3.4.
public struct RecordAccessControlPoint: RecordTransport {
    private let controlPoint: BluetoothUUID
    private let records: BluetoothUUID
    /// Where in a record its number stands.
    private let numberOffset: Int
    private let patience: Duration

    /// Describes a service.
    ///
    /// - Parameters:
    ///   - records: the characteristic that notifies records.
    ///   - numberOffset: where in a record its sequence number of two octets begins.
    ///   - controlPoint: the control point, 2A52 unless said otherwise.
    ///   - patience: how long the device may say nothing.
    public init(
        records: BluetoothUUID,
        numberOffset: Int,
        controlPoint: BluetoothUUID = BluetoothUUID(0x2A52),
        patience: Duration = .seconds(20)
    ) {
        self.controlPoint = controlPoint
        self.records = records
        self.numberOffset = numberOffset
        self.patience = patience
    }

    /// The measurements of a glucose meter: 2A18, behind an octet of flags the number.
    public static let glucose = RecordAccessControlPoint(records: BluetoothUUID(0x2A18), numberOffset: 1)

    private enum Octet {
        static let reportRecords: UInt8 = 0x01
        static let response: UInt8 = 0x06
        static let allRecords: UInt8 = 0x01
        static let greaterOrEqual: UInt8 = 0x03
        static let sequenceNumber: UInt8 = 0x01
        static let success: UInt8 = 0x01
        static let noRecords: UInt8 = 0x06
    }

    public func fetch(
        after last: Int?,
        on channel: FlowChannel,
        _ take: (DeviceRecord) async throws -> Void
    ) async throws {
        // Numbers have two octets: behind the last one there is none.
        if let last, last >= Int(UInt16.max) { return }
        try await channel.subscribe(to: records)
        try await channel.subscribe(to: controlPoint, indications: true)
        defer {
            channel.unsubscribe(from: controlPoint)
            channel.unsubscribe(from: records)
        }
        try await channel.write(request(after: last), to: controlPoint)
        while true {
            let (value, source) = try await channel.value(timeout: patience)
            if source == controlPoint {
                if try isDone(value, channel) { return }
            } else if source == records {
                guard value.count >= numberOffset + 2 else {
                    throw BLEError.record(channel, value, "it ends before its sequence number")
                }
                let number = Int(value[numberOffset]) | Int(value[numberOffset + 1]) << 8
                try await take(DeviceRecord(number: number, bytes: Array(value)))
            }
        }
    }

    /// The control point knows no acknowledgement: records stay until somebody deletes them.
    public func acknowledge(upTo last: Int, on channel: FlowChannel) async throws {}

    private func request(after last: Int?) -> [UInt8] {
        guard let last else { return [Octet.reportRecords, Octet.allRecords] }
        let first = UInt16(clamping: last + 1)
        return [
            Octet.reportRecords, Octet.greaterOrEqual, Octet.sequenceNumber,
            UInt8(truncatingIfNeeded: first), UInt8(truncatingIfNeeded: first >> 8),
        ]
    }

    /// Whether all records have come; throws where the device says that it can't.
    private func isDone(_ value: CharacteristicValue, _ channel: FlowChannel) throws -> Bool {
        guard value.count >= 4, value[0] == Octet.response else {
            throw BLEError.record(channel, value, "it is no answer of the control point")
        }
        guard value[2] == Octet.reportRecords else { return false }
        switch value[3] {
        case Octet.success, Octet.noRecords: return true
        default:
            throw BLEError(
                .attributeError,
                operation: "synchronization",
                object: "of records of \(channel.peripheral)",
                cause: "the control point answers with code \(value[3])",
                remedy: "Look up the codes of the Record Access Control Point."
            )
        }
    }
}
