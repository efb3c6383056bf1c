import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Devices that have no slot for another image, since they may still need the one that is there.
@Suite(.timeLimit(.minutes(10))) struct TakenSlotTests {
    private static func update(
        _ image: FirmwareImage,
        _ mode: FirmwareUpdateFlow.MCUmgrOptions.Mode
    ) -> FirmwareUpdateFlow {
        FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: mode)))
    }

    @Test func `where another image is pending, the remedy is a reset, and no erasure that is refused too`()
        async throws
    {
        let (device, other) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let image = try UpdateDevice.firmware(5000, 3)
        let characteristic = try #require(device.mcumgr.service.characteristics.first).uuid
        let hash = try #require(other.bootHash)
        let body = CBORValue.map(["hash": .bytes(hash), "confirm": .bool(false)])
        let mark = MCUmgrMessage(.write, .imageState, sequence: 200, body: body)
        try await device.run { bench in
            try await bench.peripheral.withQueue { try await $0.connecting().run(Self.update(other, .upload)) }
            try await bench.peripheral.withLink { link in
                let value = try await link.request(mark.encoded, to: characteristic, answeredOn: characteristic)
                let answer = try MCUmgrMessage(decoding: value)
                #expect(MCUmgrFailure(answer.body) == nil)
            }
            // Zephyr says "no free slot" of a pending image.
            let taken = CBORValue.map(["err": .map(["group": .integer(1), "rc": .integer(9)])])
            BusyDeviceTests.refuseUploads(bench, times: nil, skipping: 0, with: taken)
            try await bench.peripheral.withQueue { queue in
                let error = await bleError { try await queue.connecting().run(Self.update(image, .upload)) }
                #expect(error?.code == .updateFailed && error?.cause.contains("no free slot") == true)
                let remedy = try #require(error?.remedy)
                #expect(remedy.contains("Reset the device so that it runs the pending image"))
                #expect(!remedy.contains("image erase") && !remedy.contains("testAndConfirm"))
            }
        }
    }

    @Test func `on a trial, the remedy is what ends the trial`() async throws {
        let (device, other) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let image = try UpdateDevice.firmware(5000, 3)
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(Self.update(other, .test))
                try await bench.time.sleep(for: .seconds(5))
                let error = await bleError { try await flows.run(Self.update(image, .upload)) }
                #expect(error?.code == .updateFailed && error?.cause.contains("no free slot") == true)
                let remedy = try #require(error?.remedy)
                #expect(remedy.contains("confirm that image") && remedy.contains("reset the device"))
                #expect(!remedy.contains("image erase"))
                // What the remedy says.
                try await flows.run(Self.update(other, .testAndConfirm))
                try await flows.run(Self.update(image, .upload))
            }
            #expect(device.mcumgr.runningImage == other.bytes && device.mcumgr.isConfirmed)
        }
    }
}
