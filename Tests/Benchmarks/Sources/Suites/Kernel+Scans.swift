import BLEStreams

/// Five scans, and a fleet of so many devices that are absent, as a gateway has them.
///
///     Benchmarks --kernel scans ADAPTER anywhere|on-radio ABSENT all|changes
///
/// One scan hears of each advertisement, or of each that changes; four look for one service each: three that some
/// advertise, and one that nobody has. It says `listening` at the first advertisement, and `heard` after each thousand,
/// or after each hundred that have changed.
extension Kernel {
    static func scan(_ arguments: [String]) async throws {
        guard arguments.count == 4, let absent = UInt64(arguments[2]), ["all", "changes"].contains(arguments[3]) else {
            throw Usage()
        }
        let central = try await Central.open(.adapter(arguments[0]))
        let executor = arguments[1] == "on-radio" ? central.executor : nil
        try await withTaskExecutorPreference(executor) {
            try await scan(central, absent, arguments[3] == "all" ? .all : .changes)
        }
    }

    @concurrent private static func scan(
        _ central: Central,
        _ absent: UInt64,
        _ duplicates: Central.Duplicates
    ) async throws {
        let step = duplicates == .all ? 1000 : 100
        try await central.withFleet { fleet in
            for number in 0..<absent {
                let address = BluetoothAddress(rawValue: 0xC000_0000_0100 + number, kind: .random)
                fleet.add(Session.Plan(address).subscribing(to: BluetoothUUID(0xA001)))
            }
            try await withThrowingDiscardingTaskGroup { group in
                for service in [0x180D, 0x180F, 0x181A, 0x1816] as [UInt16] {
                    group.addTask {
                        for try await _ in central.scan(for: .service(BluetoothUUID(service)), duplicates: duplicates) {
                        }
                    }
                }
                var heard = 0
                for try await _ in central.scan(duplicates: duplicates) {
                    if heard == 0 { say("listening") }
                    heard += 1
                    if heard % step == 0 { say("heard \(heard)") }
                }
            }
        }
    }
}
