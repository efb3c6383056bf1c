import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Statuses of the plain protocol that the kernel has no room for.
@Suite(.timeLimit(.minutes(10))) struct DroppedStatusTests {
    private static let status = FirmwareUpdateFlow.PlainProfile.standard.status

    private static func update(_ image: FirmwareImage, on bench: Bench) async throws {
        try await bench.peripheral.withQueue { queue in
            let queue = queue.connecting()
            try await queue.run(FirmwareUpdateFlow(image, over: .plain()))
            try await queue.run(.block("look") { try await $0.expectNoSubscriptions() })
        }
    }

    /// The device tells that it has begun, three times that it has room, and that it has all.
    @Test(arguments: 0...4, [1, 2]) func `a status that the kernel drops is read`(place: Int, count: Int) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware())
        try await device.run { bench in
            let dropped = bench.air.faults.add(.overflow(.notifications).skipping(place).times(count))
            let begin = bench.time.now
            try await Self.update(image, on: bench)
            #expect(device.plain.image == image.bytes)
            #expect(bench.air.faults.strikes(of: dropped) == min(count, 5 - place))
            #expect(bench.time.now - begin < .seconds(10))
        }
    }

    @Test func `a status that was sent before the one that was read, and comes later, is no step back`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware())
        try await device.run { bench in
            let late = bench.air.faults.add(.delay(.notifications, by: .milliseconds(500)).skipping(1).times(1))
            let dropped = bench.air.faults.add(.overflow(.notifications).skipping(1).times(1))
            try await Self.update(image, on: bench)
            #expect(device.plain.image == image.bytes)
            #expect(bench.air.faults.strikes(of: late) == 1 && bench.air.faults.strikes(of: dropped) == 1)
        }
    }

    /// A device that receives images, or one that takes an announcement and says nothing of it.
    private static func live(_ device: UpdateDevice, _ isReceiving: Bool, on server: PeripheralServer) async throws {
        if isReceiving { return try await device.plain.run(on: server) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await read in server.reads(of: status) { try read.respond(device.plain.status.encoded) }
            }
            group.addTask {
                for try await write in server.writes(to: FirmwareUpdateFlow.PlainProfile.standard.control) {
                    write.accept()
                }
            }
            try await group.waitForAll()
        }
    }

    /// Beside its statuses, the device notifies values that the kernel has no room for.
    @Test(arguments: [false, true])
    func `a device that tells nothing new is given up, though losses go on`(isReceiving: Bool) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware())
        let description = LocalPeripheral(name: "Busy") {
            device.plain.service
            LocalService(BluetoothUUID(0xA000)) { LocalCharacteristic(Bench.notifying, [.notify]) }
        }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Self.live(device, isReceiving, on: server) }
                group.addTask {
                    while true {
                        try await bench.time.sleep(for: .milliseconds(5))
                        try server.notify([1], of: Bench.notifying, buffer: .newest(3))
                    }
                }
                try await group.waitForAll()
            }
        }
        try await Bench.run(description: description, serve: serve) { bench in
            bench.air.faults.add(.swallow(.writeCommands).skipping(5))
            bench.air.faults.add(.overflow(.where { $0.first == 0x1B && $0.count == 4 }).skipping(1))
            let flow = FirmwareUpdateFlow(image, over: .plain(), patience: .seconds(20))
            try await bench.peripheral.withLink { link in
                var values = link.notifications(of: Bench.notifying).makeAsyncIterator()
                _ = try await values.next()
                let begin = bench.time.now
                let error = await bleError { try await link.run(flow.timeout(.seconds(120))) }
                #expect(error?.cause.contains("nothing new") == true, "\(error as Any)")
                #expect(bench.time.now - begin < .seconds(25) && link.droppedPDUs > 1000)
                withExtendedLifetime(values) {}
            }
        }
    }
}
