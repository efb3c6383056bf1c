import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Updates that another run of the program has begun: it has ended in some phase, or had another mode.
@Suite(.timeLimit(.minutes(10))) struct ResumedUpdateTests {
    private typealias Mode = FirmwareUpdateFlow.MCUmgrOptions.Mode

    private static func update(_ image: FirmwareImage, _ mode: Mode) -> FirmwareUpdateFlow {
        FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: mode)))
    }

    /// Runs an update that ends where this phase begins; `nil`: behind the last one.
    private static func begin(
        _ image: FirmwareImage,
        _ mode: Mode,
        until phase: String?,
        on bench: Bench
    ) async throws {
        try await bench.peripheral.withQueue { queue in
            do {
                try await queue.connecting().run(update(image, mode), replacing: .activeFlow) { progress in
                    if progress.phase == phase { withUnsafeCurrentTask { $0?.cancel() } }
                }
            } catch is CancellationError {}
        }
        // The device may be in its reset.
        try await bench.time.sleep(for: .seconds(5))
    }

    @Test(arguments: ["reset", nil])
    func `an image on trial, or marked for one, is kept by an update that is to keep it`(phase: String?) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            try await Self.begin(image, .test, until: phase, on: bench)
            #expect((device.mcumgr.runningImage == image.bytes) == (phase == nil))
            try await Self.begin(image, .confirm, until: nil, on: bench)
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
            #expect(device.mcumgr.restarts == 1)
            try await bench.peripheral.withLink { try await $0.expectNoSubscriptions() }
        }
    }

    @Test func `an image that is marked to stay is not begun by what is to end its trial`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            try await Self.begin(image, .confirm, until: "reset", on: bench)
            try await bench.peripheral.withQueue { queue in
                let error = await bleError { try await queue.connecting().run(FirmwareRevertFlow(image)) }
                #expect(error?.code == .updateFailed && error?.cause.contains("to stay") == true)
            }
            #expect(device.mcumgr.restarts == 0 && device.mcumgr.runningImage != image.bytes)
            try await bench.peripheral.withLink { try await $0.expectNoSubscriptions() }
        }
    }

    @Test func `an image that was spoilt on its way is sent again, and never begun`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            let spoil = Fault.replace(.where { $0.first == 0x52 && $0.count > 100 }) { pdu in
                pdu.dropLast() + [(pdu.last ?? 0) ^ 1]
            }
            bench.air.faults.add(spoil.times(1))
            try await bench.peripheral.withQueue { queue in
                let (queue, update) = (queue.connecting(), Self.update(image, .testAndConfirm))
                let error = await bleError { try await queue.run(update) }
                #expect(error?.cause.contains("another hash") == true)
                try await queue.run(update)
            }
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
        }
    }

    @Test(arguments: ["prepare", "upload", "verify", "test", "reset", "restart", "confirm"])
    func `an update that ended in any phase is finished by the next one`(phase: String) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware())
        try await device.run { bench in
            try await Self.begin(image, .testAndConfirm, until: phase, on: bench)
            #expect(!device.mcumgr.isConfirmed || device.mcumgr.runningImage != image.bytes)
            try await Self.begin(image, .testAndConfirm, until: nil, on: bench)
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
            #expect(device.mcumgr.restarts == 1)
            try await bench.peripheral.withLink { try await $0.expectNoSubscriptions() }
        }
    }
}
