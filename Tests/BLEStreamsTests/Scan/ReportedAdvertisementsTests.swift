import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// Which advertisements of a peripheral a scan reports.
@Suite(.timeLimit(.minutes(10))) struct ReportedAdvertisementsTests {
    private static func report(_ number: UInt64, _ octet: UInt8, rssi: Int8 = -60, connectable: Bool = true)
        -> AdvertisingReport
    {
        AdvertisingReport(
            address: BluetoothAddress(rawValue: number, kind: .random),
            rssi: rssi,
            isConnectable: connectable,
            data: AdvertisingData(bytes: [2, 0x16, octet]),
            time: ReceptionTime(sinceEpoch: .zero, source: .reading)
        )
    }

    /// Of which of these reports the scan is told.
    private func taken(_ duplicates: Central.Duplicates, _ reports: [AdvertisingReport]) -> [Bool] {
        var table = ReportedAdvertisements(duplicates)
        return reports.map { table.take($0) }
    }

    @Test func `the first, each that differs, or all`() {
        let reports = [
            Self.report(1, 7), Self.report(2, 7), Self.report(1, 7, rssi: -90), Self.report(1, 8), Self.report(1, 8),
            Self.report(1, 8, connectable: false), Self.report(2, 7), Self.report(1, 7),
        ]
        #expect(taken(.ignored, reports) == [true, true, false, false, false, false, false, false])
        #expect(taken(.changes, reports) == [true, true, false, true, false, true, false, true])
        #expect(taken(.all, reports) == reports.map { _ in true })
        #expect(Central.Duplicates.all == true && Central.Duplicates.ignored == false)
    }

    @Test(arguments: [.ignored, .changes] as [Central.Duplicates])
    func `the memory has a limit, behind which each is told once more`(duplicates: Central.Duplicates) {
        let limit = UInt64(
            duplicates == .ignored ? ReportedAdvertisements.addressLimit : ReportedAdvertisements.contentLimit
        )
        var table = ReportedAdvertisements(duplicates)
        let upToIt = (0..<limit).map { table.take(Self.report($0, 1)) }
        #expect(upToIt.allSatisfy { $0 })
        let behind = [0, limit, 0, limit].map { table.take(Self.report($0, 1)) }
        #expect(behind == [false, true, true, false])
    }

    @Test func `a loop over changes is told each value of a sensor once, however long it advertises it`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let radio = air.adapter()
            let central = try await Central.open(.radio(air.adapter()))
            let sensor = LocalPeripheral(name: "Thermometer") {
                LocalService(.environmentalSensing) {
                    LocalCharacteristic(BluetoothUUID.Characteristics.temperature, [.read], value: .stored([1]))
                }
            }
            let changes = central.scan(for: .service(.environmentalSensing), duplicates: .changes)
            try await sensor.run(on: radio) { server in
                async let values = changes.compactMap { found in
                    found.advertisement.serviceData(for: .environmentalSensing)?.first
                }
                .collect(4)
                for value in [1, 2, 2, 3, 1] as [UInt8] {
                    try await server.advertise(AdvertiseRequest([.serviceData(.environmentalSensing, [value])]))
                    try await time.sleep(for: .seconds(60))
                }
                #expect(try await values == [1, 2, 3, 1])
            }
            // Nothing was in the buffer that the loop didn't want: repetitions aren't received.
            #expect(changes.counters.received <= 5 && changes.counters.dropped == 0)
        }
    }

    @Test func `who begins later is told what the others know already, and they aren't told again`() async throws {
        try await Bench.run { bench in
            let early = bench.central.scan(duplicates: .changes)
            var first = early.makeAsyncIterator()
            _ = try await first.next()
            let late = try await bench.central.scan(duplicates: .changes)
                .take(until: bench.quiet(after: .seconds(10))).collect()
            #expect(late.count == 1)
            #expect(early.counters.received == 1)
        }
    }
}
