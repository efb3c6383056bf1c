import BLEStreams
import Foundation

/// Five scans, and a fleet whose devices are absent, as a gateway has them.
///
///     Benchmarks --kernel scans ADAPTER [on-radio]
///
/// One scan hears of each advertisement, four look for one service each: three that some advertise, and one that nobody has.
/// It says `ready` at the first advertisement, and `heard` after each thousand.
extension Kernel {
    private static let absent = 20

    static func scan(_ arguments: [String]) async throws {
        guard let adapter = arguments.first else { throw Usage() }
        let central = try await Central.open(.adapter(adapter))
        let executor = arguments.last == "on-radio" ? central.executor : nil
        try await withTaskExecutorPreference(executor) { try await scan(central) }
    }

    @concurrent private static func scan(_ central: Central) async throws {
        try await central.withFleet { fleet in
            for number in 0..<absent {
                let address = BluetoothAddress(rawValue: 0xC000_0000_0100 + UInt64(number), kind: .random)
                fleet.add(Session.Plan(address).subscribing(to: BluetoothUUID(0xA001)))
            }
            try await withThrowingDiscardingTaskGroup { group in
                for service in [0x180D, 0x180F, 0x181A, 0x1816] as [UInt16] {
                    group.addTask {
                        for try await _ in central.scan(for: .service(BluetoothUUID(service)), duplicates: true) {}
                    }
                }
                var heard = 0
                for try await _ in central.scan(duplicates: true) {
                    if heard == 0 { say("ready") }
                    heard += 1
                    if heard % 1000 == 0 { say("heard \(heard)") }
                }
            }
        }
    }

    private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
