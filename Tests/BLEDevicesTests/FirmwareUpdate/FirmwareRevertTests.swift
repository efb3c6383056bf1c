import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// The end of a trial: alone, behind an update in one queue, and over lost links.
@Suite(.timeLimit(.minutes(10))) struct FirmwareRevertTests {
    private typealias Mode = FirmwareUpdateFlow.MCUmgrOptions.Mode

    private static func update(_ image: FirmwareImage, _ mode: Mode) -> FirmwareUpdateFlow {
        FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: mode)))
    }

    @Test func `a trial is ended by a reset, and the device is asked`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let before = device.mcumgr.runningImage
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(Self.update(image, .test))
                try await bench.time.sleep(for: .seconds(5))
                #expect(device.mcumgr.runningImage == image.bytes)
                let phases = Recorder<String>()
                let outcome = try await flows.run(FirmwareRevertFlow(image), replacing: .activeFlow) { progress in
                    if phases.all.last != progress.phase { phases.add(progress.phase) }
                }
                #expect(outcome == .reverted)
                #expect(phases.all == ["prepare", "reset", "restart", "prepare"])
            }
            #expect(device.mcumgr.runningImage == before && device.mcumgr.isConfirmed)
            #expect(device.mcumgr.restarts == 2)
            try await bench.peripheral.withLink { try await $0.expectNoSubscriptions() }
        }
    }

    @Test func `a trial is ended by what follows at once in the queue`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let before = device.mcumgr.runningImage
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(Self.update(image, .test))
                let outcome = try await flows.run(FirmwareRevertFlow(image))
                #expect(outcome == .reverted)
            }
            #expect(device.mcumgr.runningImage == before && device.mcumgr.isConfirmed)
        }
    }

    @Test func `a confirmed image stays, and nothing is reset`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(Self.update(image, .testAndConfirm))
                let outcome = try await flows.run(FirmwareRevertFlow(image))
                #expect(outcome == .confirmed)
            }
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.restarts == 1)
        }
    }

    @Test(arguments: [true, false]) func `behind an update in the queue of a session`(isConfirmed: Bool) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let before = device.mcumgr.runningImage
        try await device.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.queue.run(Self.update(image, isConfirmed ? .testAndConfirm : .test))
                let outcome = try await session.queue.run(FirmwareRevertFlow(image))
                #expect(outcome == (isConfirmed ? .confirmed : .reverted))
                let battery = try await session.queue.run(.read(UpdateDevice.battery))
                #expect(Array(battery) == [87])
            }
            #expect(device.mcumgr.runningImage == (isConfirmed ? image.bytes : before) && device.mcumgr.isConfirmed)
        }
    }

    @Test func `the trial of another image goes on`() async throws {
        let (device, other) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let image = try UpdateDevice.firmware(5000, 3)
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(Self.update(other, .test))
                try await bench.time.sleep(for: .seconds(5))
                let outcome = try await flows.run(FirmwareRevertFlow(image))
                #expect(outcome == .reverted)
            }
            #expect(device.mcumgr.runningImage == other.bytes && !device.mcumgr.isConfirmed)
            #expect(device.mcumgr.restarts == 1)
        }
    }

    @Test func `the image to return to is not overwritten by an upload during a trial`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let (before, other) = (device.mcumgr.runningImage, try UpdateDevice.firmware(5000, 3))
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(Self.update(image, .test))
                try await bench.time.sleep(for: .seconds(5))
                let error = await bleError { try await flows.run(Self.update(other, .upload)) }
                #expect(error?.code == .updateFailed && error?.cause.contains("no free slot") == true)
                let outcome = try await flows.run(FirmwareRevertFlow(image))
                #expect(outcome == .reverted)
            }
            #expect(device.mcumgr.runningImage == before && device.mcumgr.isConfirmed)
        }
    }

    @Test func `a device that never had the image is left alone`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let outcome = try await queue.connecting().run(FirmwareRevertFlow(image))
                #expect(outcome == .reverted)
            }
            #expect(device.mcumgr.restarts == 0)
        }
    }

    @Test func `lost links are made again`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let before = device.mcumgr.runningImage
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(Self.update(image, .test))
                try await bench.time.sleep(for: .seconds(5))
                bench.air.faults.add(.dropLink(after: 1, .writeCommands))
                let outcome = try await flows.run(FirmwareRevertFlow(image))
                #expect(outcome == .reverted)
            }
            #expect(device.mcumgr.runningImage == before)
        }
    }

    @Test func `an image for another boot loader is refused before anything is sent`() async throws {
        let device = UpdateDevice()
        let image = try FirmwareImage([1, 2, 3, 4])
        try await device.run { bench in
            let error = await #expect(throws: BLEError.self) {
                try await bench.peripheral.withQueue { queue in
                    _ = try await queue.connecting().run(FirmwareRevertFlow(image))
                }
            }
            #expect(error?.code == .invalidArgument)
            #expect(device.mcumgr.restarts == 0)
        }
    }
}
