import BLESimulator
import BLEStreams
import Synchronization

/// A device with records and settings.
enum RecordDevice {
    static let control = BluetoothUUID(0xC001)
    static let records = BluetoothUUID(0xC002)
    static let setting = (0..<4).map { BluetoothUUID(0xC010 + UInt16($0)) }
    static let glucose = BluetoothUUID(0x2A18)
    static let controlPoint = BluetoothUUID(0x2A52)
    static let secret = BluetoothUUID(0xC020)

    static let description = LocalPeripheral(name: "Records") {
        LocalService(BluetoothUUID(0xC000)) {
            LocalCharacteristic(control, [.write], value: .dynamic)
            LocalCharacteristic(records, [.notify])
            LocalCharacteristic(glucose, [.notify])
            LocalCharacteristic(controlPoint, [.write, .indicate], value: .dynamic)
            for uuid in setting { LocalCharacteristic(uuid, [.read, .write], value: .stored([0])) }
            LocalCharacteristic(secret, [.read], value: .text("secret"), access: .encrypted)
        }
    }

    static func record(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 10) }

    /// Answers both transports, with records 0 to 199; notes what is acknowledged.
    ///
    /// - Parameter answersAborts: whether it heeds and answers Abort Operation.
    static func live(
        _ acknowledged: Recorder<UInt32>,
        answersAborts: Bool = true
    ) -> @Sendable (PeripheralServer, Bench) async throws -> Void {
        { server, bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await write in server.writes(to: control) {
                        write.accept()
                        let number = UInt32(octets: write.value.dropFirst())
                        if write.value.first == 2 {
                            acknowledged.add(number)
                            continue
                        }
                        do {
                            for number in number..<max(number, 200) {
                                let record = number.octets + record(Int(number))
                                try await server.notify(record, of: records, to: write.central)
                            }
                            try await server.notify(UInt32.max.octets, of: records, to: write.central)
                        } catch is BLEError {}
                    }
                }
                group.addTask { try await RecordReport(server, bench.time, answersAborts: answersAborts).serve() }
                try await group.waitForAll()
            }
        }
    }
}

/// A Record Access Control Point that reports records 0 to 199 and can be told to stop meanwhile.
private final class RecordReport: Sendable {
    private let server: PeripheralServer
    private let time: VirtualTime
    private let answersAborts: Bool
    private let progress = Mutex((isReporting: false, isAborted: false))

    init(_ server: PeripheralServer, _ time: VirtualTime, answersAborts: Bool) {
        self.server = server
        self.time = time
        self.answersAborts = answersAborts
    }

    func serve() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for try await write in server.writes(to: RecordDevice.controlPoint) {
                write.accept()
                if write.value.first == 3 {
                    guard answersAborts else { continue }
                    let isReporting = progress.withLock { progress in
                        progress.isAborted = progress.isReporting
                        return progress.isReporting
                    }
                    // Else the report answers, when nothing more comes of it.
                    if !isReporting { group.addTask { await self.answer(3, 1, to: write.central) } }
                } else {
                    let isLast = write.value.starts(with: [1, 6])
                    let first =
                        write.value.count > 4
                        ? Int(write.value[3]) | Int(write.value[4]) << 8 : isLast ? 199 : 0
                    progress.withLock { $0 = (true, false) }
                    group.addTask { await self.report(first, to: write.central) }
                }
            }
            try await group.waitForAll()
        }
    }

    private func report(_ first: Int, to central: ConnectedCentral) async {
        do {
            for number in first..<max(first, 200) where !progress.withLock({ $0.isAborted }) {
                let record = [0, UInt8(number), 0] + RecordDevice.record(number)
                try await server.notify(record, of: RecordDevice.glucose, to: central)
                // It reads its memory: what it has handed over can't be taken back.
                try await time.sleep(for: .milliseconds(5))
            }
        } catch {}
        let isAborted = progress.withLock { progress in
            defer { progress = (false, false) }
            return progress.isAborted
        }
        if isAborted { await answer(3, 1, to: central) } else { await answer(1, first < 200 ? 1 : 6, to: central) }
    }

    private func answer(_ operation: UInt8, _ code: UInt8, to central: ConnectedCentral) async {
        // Who has left, or has switched it off, gets none.
        _ = try? await server.indicate([6, 0, operation, code], of: RecordDevice.controlPoint, to: central)
    }
}
