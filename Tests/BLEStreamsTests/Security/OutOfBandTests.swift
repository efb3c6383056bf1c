import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// Pairing by what the two devices have told each other by other means than Bluetooth.
@Suite(.timeLimit(.minutes(10))) struct OutOfBandTests {
    private static func peripheral(_ pairing: PairingAnswers) -> LocalPeripheral {
        LocalPeripheral(name: "Lock", pairing: pairing) {
            LocalService(BluetoothUUID(0xB000)) {
                LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([42]), access: .authenticated)
            }
        }
    }

    private static func data(of adapter: SimulatedAdapter) async throws -> OutOfBandData {
        let told = try await Central.open(.radio(adapter)).makeOutOfBandData()
        // On its way it is octets.
        return try #require(OutOfBandData(octets: told.octets))
    }

    @Test func `what the peripheral has told makes sure of the pairing`() async throws {
        try await Bench.run(description: Self.peripheral(PairingAnswers())) { bench in
            let data = try await Self.data(of: bench.peripheralAdapter)
            #expect(data.address == bench.peripheralAdapter.address)
            try await bench.peripheral.withLink { link in
                try await link.pair(answers: .outOfBand(data))
                #expect(link.security.isAuthenticated)
                try await link.expect(BluetoothUUID(0xB001), reads: [42])
            }
        }
    }

    @Test func `data that was made anew since is wrong`() async throws {
        try await Bench.run(description: Self.peripheral(PairingAnswers())) { bench in
            let data = try await Self.data(of: bench.peripheralAdapter)
            _ = try await Self.data(of: bench.peripheralAdapter)
            try await bench.peripheral.withLink { link in
                let error = await bleError { try await link.pair(answers: .outOfBand(data)) }
                #expect(error?.pairingFailure == .wrongOutOfBandData && !link.security.isEncrypted)
            }
            #expect(!bench.peripheral.isBonded)
        }
    }

    @Test func `what the central has told makes sure of it for the peripheral`() async throws {
        try await VirtualTime.run(seed: 5) { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            let peripheral = Self.peripheral(.outOfBand(try await Self.data(of: near)))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await peripheral.run(on: far) }
                let central = try await Central.open(.radio(near))
                try await central.peripheral(far.address).withLink { link in
                    try await link.pair()
                    #expect(link.security.isAuthenticated)
                }
                group.cancelAll()
            }
        }
    }

    @Test func `a peripheral is not served with data that doesn't say whose it is`() async throws {
        let data = try #require(OutOfBandData(octets: [17, 0x22] + (0..<16) + [17, 0x23] + (0..<16)))
        try await VirtualTime.run { time in
            let adapter = SimulatedAir(time).adapter()
            let error = await bleError { try await Self.peripheral(.outOfBand(data)).run(on: adapter) { _ in } }
            #expect(error?.code == .invalidArgument && error?.cause.contains("address") == true)
            #expect(error?.remedy.isEmpty == false)
        }
    }

    @Test func `an adapter that hides makes none`() async throws {
        try await Bench.run { bench in
            try await bench.central.setPrivacy(true)
            let error = await bleError { _ = try await bench.central.makeOutOfBandData() }
            #expect(error?.code == .notSupported)
        }
    }

    @Test func `answers show nothing of it`() throws {
        let data = try #require(OutOfBandData(octets: [17, 0x22] + (0..<16) + [17, 0x23] + (0..<16)))
        var dumped = ""
        dump(PairingAnswers.outOfBand(data), to: &dumped)
        #expect(!dumped.contains("band") && !"\(PairingAnswers.outOfBand(data))".contains("band"))
    }
}
