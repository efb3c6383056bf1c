import BLEStreams

/// Five scans, and a fleet of so many devices that are absent, as a gateway has them.
///
///     Benchmarks --kernel scans ADAPTER anywhere|on-radio ABSENT
///
/// One scan hears of each advertisement, four look for one service each: three that some advertise, and one that nobody has.
/// It says `listening` at the first advertisement, and `heard` after each thousand.
extension Kernel {
    static func scan(_ arguments: [String]) async throws {
        guard arguments.count == 3, let absent = UInt64(arguments[2]) else { throw Usage() }
        let central = try await Central.open(.adapter(arguments[0]))
        let executor = arguments[1] == "on-radio" ? central.executor : nil
        try await withTaskExecutorPreference(executor) { try await scan(central, absent) }
    }

    @concurrent private static func scan(_ central: Central, _ absent: UInt64) async throws {
        try await central.withFleet { fleet in
            for number in 0..<absent {
                let address = BluetoothAddress(rawValue: 0xC000_0000_0100 + number, kind: .random)
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
                    if heard == 0 { say("listening") }
                    heard += 1
                    if heard % 1000 == 0 { say("heard \(heard)") }
                }
            }
        }
    }

}
