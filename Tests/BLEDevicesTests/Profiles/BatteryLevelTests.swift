import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

@Suite(.timeLimit(.minutes(10))) struct BatteryLevelTests {
    @Test(arguments: [("00", 0), ("57", 87), ("64", 100), ("65", 101), ("FF", 255)])
    func `a level is a percentage, and a reserved one stays as it is`(_ hex: String, _ level: Int) throws {
        try expectBothWays(hex, .batteryLevel, level)
        #expect(throws: BLEError.self) { try TypedCharacteristic.batteryLevel.octets(of: 256) }
    }

    @Test func `the battery level is read as a number, by a link, a command and a queue`() async throws {
        let description = LocalPeripheral(name: "Battery") {
            LocalService(BluetoothUUID(0x180F)) {
                LocalCharacteristic(BluetoothUUID(0x2A19), [.read], value: .stored([87]))
            }
        }
        try await Bench.run(description: description) { bench in
            let queued = try await bench.peripheral.withQueue { queue in
                try await queue.connecting().run(.read(.batteryLevel), priority: .high)
            }
            let read = try await bench.peripheral.withLink { try await $0.read(.batteryLevel) }
            #expect(queued == 87 && read == 87)
        }
    }
}
