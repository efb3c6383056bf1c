import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// Scans beside each other and beside attempts to connect, as a gateway has them for months.
@Suite(.timeLimit(.minutes(10))) struct ScanBesideConnectsTests {
    /// More than have a turn on the radio at a time.
    private static let absent = (1...20 as ClosedRange<UInt64>).map { number in
        BluetoothAddress(rawValue: 0xC0DE_0000_1000 + number, kind: .random)
    }

    @Test func `a scan goes on, and who is there is linked, while more sessions than turns wait for the absent`()
        async throws
    {
        try await Bench.run { bench in
            let seen = Recorder<BluetoothAddress>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for address in Self.absent {
                    group.addTask {
                        try await bench.central.withSession(Session.Plan(address)) { _ in
                            try await bench.time.sleep(for: .seconds(3600))
                        }
                    }
                }
                group.addTask {
                    for try await discovery in bench.central.scan(duplicates: true) { seen.add(discovery.address) }
                }
                for _ in 0..<5 {
                    let count = seen.all.count
                    try await bench.time.sleep(for: .seconds(60))
                    #expect(seen.all.count > count + 10)
                    try await bench.peripheral.withLink(timeout: .seconds(60)) { link in
                        try await link.expect(Bench.readable, reads: [1, 2, 3])
                    }
                }
                group.cancelAll()
            }
            try await bench.time.sleep(for: .seconds(5))
            #expect(bench.centralAdapter.activity.isIdle)
            #expect(bench.central.leftovers.isEmpty, "\(bench.central.leftovers)")
        }
    }

    @Test func `scans that stay have each peripheral once, however often the radio's scan is replaced beside links`()
        async throws
    {
        try await Bench.run { bench in
            let address = bench.peripheralAdapter.address
            let filters: [[ScanFilter]] = [[], [.connectable], [.address(address)], [.rssi(atLeast: -80)]]
            let seen = filters.map { _ in Recorder<BluetoothAddress>() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (filters, seen) in zip(filters, seen) {
                    group.addTask {
                        let scan = bench.central.scan(for: filters, duplicates: .ignored, mode: .passive)
                        for try await discovery in scan { seen.add(discovery.address) }
                    }
                }
                for time in 0..<12 {
                    let mode = time.isMultiple(of: 2) ? Central.ScanMode.active : .passive
                    let scan = bench.central.scan(for: .address(address), duplicates: .all, mode: mode)
                    let found = try await scan.timeout(.seconds(20)).first()
                    try await found.peripheral.withLink { link in
                        try await link.expect(Bench.readable, reads: [1, 2, 3])
                    }
                    // One that is given up while the radio's scan is being replaced for it.
                    try await withThrowingTaskGroup(of: Void.self) { brief in
                        brief.addTask { for try await _ in scan {} }
                        try await bench.time.sleep(for: .milliseconds(time))
                        brief.cancelAll()
                    }
                }
                group.cancelAll()
            }
            for seen in seen { #expect(seen.all == [address]) }
            try await bench.time.sleep(for: .seconds(5))
            #expect(bench.centralAdapter.activity.isIdle)
            #expect(bench.central.leftovers.isEmpty, "\(bench.central.leftovers)")
        }
    }

    @Test func `a scan finds within seconds whom another one has found already, and who was too far then`() async throws
    {
        try await Bench.run { bench in
            let air = bench.air
            let (central, peripheral) = (bench.centralAdapter, bench.peripheralAdapter)
            async let all = bench.central.scan().take(until: bench.quiet(after: .seconds(20))).collect()
            try await bench.time.sleep(for: .seconds(1))
            let found = try await bench.central.scan(for: .name("Bench")).timeout(.seconds(5)).first()
            #expect(found.address == peripheral.address)
            async let near = bench.central.scan(for: .rssi(atLeast: -50)).timeout(.seconds(10)).first()
            try await bench.time.sleep(for: .seconds(4))
            air.setSignal(.dBm(-45), between: central, and: peripheral)
            #expect(try await near.rssi == -45)
            #expect(try await all.count == 1)
        }
    }
}
