public import BLEProtocol
public import BLEStreams

/// Records over two plain characteristics.
///
/// | characteristic | properties | octets, numbers least significant octet first |
/// |---|---|---|
/// | control | write | report from: `01`, first number (4); stored: `02`, last number (4) |
/// | records | notify | number (4), the record; number `FFFFFFFF` alone: end |
public struct PlainRecordTransport: RecordTransport {
    private let control: BluetoothUUID
    private let records: BluetoothUUID
    private let patience: Duration

    /// Describes the characteristics, and how long the device may stay silent.
    public init(control: BluetoothUUID, records: BluetoothUUID, patience: Duration = .seconds(20)) {
        self.control = control
        self.records = records
        self.patience = patience
    }

    public func fetch(
        after last: Int?,
        on channel: FlowChannel,
        _ take: (DeviceRecord) async throws -> Void
    ) async throws {
        try await channel.subscribe(to: records)
        defer { channel.unsubscribe(from: records) }
        try await channel.write(Self.command(1, UInt32(clamping: last.map { $0 + 1 } ?? 0)), to: control)
        while true {
            let (value, source) = try await channel.value(timeout: patience)
            guard source == records else { continue }
            var reader = ByteReader(value.bytes)
            guard let number = reader.uint32() else {
                throw BLEError.record(channel, value, "it has \(value.count) octets; at least four are required")
            }
            if number == .max { return }
            try await take(DeviceRecord(number: Int(number), bytes: Array(reader.rest())))
        }
    }

    public func acknowledge(upTo last: Int, on channel: FlowChannel) async throws {
        try await channel.write(Self.command(2, UInt32(clamping: last)), to: control)
    }

    private static func command(_ code: UInt8, _ number: UInt32) -> [UInt8] {
        var writer = ByteWriter(capacity: 5)
        writer.uint8(code)
        writer.uint32(number)
        return writer.bytes
    }
}

extension BLEError {
    static func record(_ channel: FlowChannel, _ value: CharacteristicValue, _ cause: String) -> BLEError {
        var error = BLEError(
            .malformedValue,
            operation: "synchronization",
            object: "of a record of \(channel.peripheral)",
            cause: cause,
            remedy: "Check that the peripheral follows the specification of this characteristic."
        )
        error.received = Array(value)
        return error
    }
}
