import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// What becomes of a link whose bond is removed, and of those who connect next.
struct UnpairedLinkTests {
    @Test func `the link is down once the bond is removed, and whoever connects next gets a new one`() async throws {
        try await Bench.run { bench in
            let (peripheral, name) = (bench.peripheral, BluetoothUUID.Characteristics.deviceName)
            try await peripheral.withLink { link in
                try await link.pair()
                try await peripheral.unpair()
                #expect(link.isDown)
                try await peripheral.withLink { next in
                    let value = try await next.read(name)
                    #expect(!value.isEmpty && !next.security.isEncrypted)
                }
            }
        }
    }

    @Test func `nobody shares the link of a removed bond, however long it takes until that is down`() async throws {
        try await Bench.run { bench in
            let timing = LinkTiming(connectionInterval: .milliseconds(30), supervisionTimeout: .seconds(6))
            let adapter = bench.air.adapter(settings: AdapterSettings(linkTiming: timing))
            let central = try await Central.open(.radio(adapter))
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            try await peripheral.withLink { link in
                try await link.pair()
                let away = Fault.outOfRange(lasting: .seconds(8))
                bench.air.faults.add(away, between: adapter, and: bench.peripheralAdapter)
                try await peripheral.unpair()
                try await peripheral.withLink { next in
                    let value = try await next.read(BluetoothUUID.Characteristics.deviceName)
                    #expect(link.isDown && !value.isEmpty)
                }
            }
        }
    }

    @Test(arguments: [60, 80, 100, 120, 140, 160, 180, 200, 220])
    func `nobody waits for a link that was being made when its bond was removed`(_ milliseconds: Int) async throws {
        try await Bench.run { bench in
            let peripheral = bench.peripheral
            try await peripheral.withLink { try await $0.pair() }
            // This one loses its link.
            async let other: Void? = try? peripheral.withLink { _ in try await bench.time.sleep(for: .seconds(1)) }
            try await bench.time.sleep(for: .milliseconds(milliseconds))
            try await peripheral.unpair()
            try await peripheral.withLink { link in #expect(!link.security.isEncrypted) }
            _ = await other
        }
    }
}
