import BLEDevices
import BLEStreams

/// The records that each peripheral has stored.
enum PlannedRecords {
    static let count = 60

    static var transport: PlainRecordTransport {
        PlainRecordTransport(control: PlannedPeripheral.recordControl, records: PlannedPeripheral.records)
    }

    static func record(_ number: Int) -> DeviceRecord {
        DeviceRecord(number: number, bytes: (0..<12).map { UInt8(truncatingIfNeeded: number * 5 + $0) })
    }

    /// Sends records to whoever asks for them.
    static func serve(_ server: PeripheralServer) async throws {
        for try await write in server.writes(to: PlannedPeripheral.recordControl) {
            write.accept()
            guard write.value.count == 5, write.value[0] == 1 else { continue }
            let first = Int(write.value[1]) | Int(write.value[2]) << 8
            let records = (min(first, count)..<count).map { number in
                octets(of: number) + record(number).bytes
            }
            for octets in records + [[0xFF, 0xFF, 0xFF, 0xFF]] {
                _ = try? await server.notify(octets, of: PlannedPeripheral.records, to: write.central)
            }
        }
    }

    private static func octets(of number: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8), 0, 0]
    }
}
