import BLEDevices
import BLESimulator
import BLEStreams
import Testing

/// A device whose firmware can be replaced, over both protocols, and what tests of updates need.
struct UpdateDevice: Sendable {
    let plain: PlainFirmwareReceiver
    let mcumgr: MCUmgrFirmwareReceiver

    /// Something that others read.
    static let battery = BluetoothUUID(0x2A19)

    init(capacity: Int = 300_000, window: Int = 16_384, buffers: Int = 5) {
        plain = PlainFirmwareReceiver(model: 7, capacity: capacity, window: window)
        mcumgr = MCUmgrFirmwareReceiver(running: Self.image(100, 1), capacity: capacity, bufferCount: buffers)
    }

    var description: LocalPeripheral {
        LocalPeripheral(name: "Update", advertising: [mcumgr.service.uuid]) {
            mcumgr.service
            plain.service
            LocalService(BluetoothUUID(0x180F)) {
                LocalCharacteristic(Self.battery, [.read], value: .stored([87]))
            }
        }
    }

    func live(_ server: PeripheralServer, _ bench: Bench) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await mcumgr.run(on: server) }
            group.addTask { try await plain.run(on: server) }
            try await group.waitForAll()
        }
    }

    /// Runs a body beside the device.
    func run(seed: UInt64 = 1, _ body: @escaping @Sendable (Bench) async throws -> Void) async throws {
        try await Bench.run(seed: seed, description: description, serve: { try await live($0, $1) }, body)
    }

    /// Octets of an image for MCUboot, of about that size.
    static func image(_ size: Int, _ seed: UInt64) -> [UInt8] {
        var chance = Chance(seed: seed)
        let body = (0..<size).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
        var octets: [UInt8] = [0x3D, 0xB8, 0xF3, 0x96, 0, 0, 0, 0, 32, 0, 0, 0]
        octets += UInt32(size).octets + [0, 0, 0, 0, 1, 0] + [UInt8(seed), 0] + [UInt8](repeating: 0, count: 8)
        octets += body
        // The hash need not be right for us: the boot loader looks at it.
        octets += [0x07, 0x69, 40, 0, 0x10, 0, 32, 0] + (0..<32).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
        return octets
    }

    static func firmware(_ size: Int = 40_000, _ seed: UInt64 = 2) throws -> FirmwareImage {
        try FirmwareImage(image(size, seed))
    }
}

extension Link {
    /// Whether the peer is asked for no values: all configurations are read. The library itself wants Service Changed.
    func expectNoSubscriptions() async throws {
        for service in try await discover().services where service.uuid != BluetoothUUID(0x1801) {
            for characteristic in service.characteristics {
                guard let configuration = characteristic.clientConfiguration else { continue }
                let value = try await read(.handle(configuration.handle))
                #expect(Array(value) == [0, 0], "\(characteristic.uuid)")
            }
        }
    }
}
