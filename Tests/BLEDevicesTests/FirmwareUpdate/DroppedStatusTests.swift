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
}
