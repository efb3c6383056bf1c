import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Links that are lost while the device is told to reset: only the device knows whether the reset has arrived.
@Suite(.timeLimit(.minutes(10))) struct LostResetTests {
    private typealias Mode = FirmwareUpdateFlow.MCUmgrOptions.Mode

    /// Runs an update whose first resets each lose the link, before the request arrives, or before its answer does.
    private static func update(
        _ image: FirmwareImage,
        _ mode: Mode,
        in queue: CommandQueue,
        on bench: Bench,
        losing count: Int = 1,
        arrives: Bool = false
    ) async throws {
        let losses = Recorder<String>()
        let flow = FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: mode)))
        try await queue.run(flow, replacing: .activeFlow) { progress in
            guard progress.phase == "reset", losses.all.count < count else { return }
            losses.add(progress.phase)
            bench.air.faults.add(.dropLink(insteadOf: arrives ? .notifications : .writeCommands))
        }
    }

    @Test(arguments: [FirmwareUpdateFlow.MCUmgrOptions.Mode.test, .confirm, .testAndConfirm], [false, true])
    func `a device that has not answered its reset is asked, and reset once`(
        mode: FirmwareUpdateFlow.MCUmgrOptions.Mode,
        arrives: Bool
    ) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                try await Self.update(image, mode, in: queue.connecting(), on: bench, arrives: arrives)
            }
            try await bench.time.sleep(for: .seconds(5))
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed == (mode != .test))
            #expect(device.mcumgr.restarts == 1)
            try await bench.peripheral.withLink { try await $0.expectNoSubscriptions() }
        }
    }

    @Test func `in the queue of a session too`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await Self.update(image, .testAndConfirm, in: session.queue, on: bench)
            }
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
            #expect(device.mcumgr.restarts == 1)
        }
    }

    @Test func `the third lost reset is the last one, and the image waits for the next update`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                let error = await bleError {
                    try await Self.update(image, .test, in: queue, on: bench, losing: 3)
                }
                #expect(error?.code == .updateFailed && error?.cause.contains("lost 3 times") == true)
                #expect(device.mcumgr.restarts == 0)
                bench.air.clearTrace()
                try await Self.update(image, .testAndConfirm, in: queue, on: bench, losing: 0)
                // Nothing is uploaded again.
                #expect(bench.sent(by: .central).map(\.count).reduce(0, +) < 2000)
            }
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.restarts == 1)
        }
    }
}
