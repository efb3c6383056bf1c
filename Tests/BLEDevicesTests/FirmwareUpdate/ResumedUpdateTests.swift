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

    @Test func `an image that is marked to stay is only tried by an update that is to try it`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let before = device.mcumgr.runningImage
        try await device.run { bench in
            try await Self.begin(image, .confirm, until: "reset", on: bench)
            #expect(device.mcumgr.runningImage == before)
            try await Self.begin(image, .test, until: nil, on: bench)
            #expect(device.mcumgr.runningImage == image.bytes && !device.mcumgr.isConfirmed)
            #expect(device.mcumgr.restarts == 1)
        }
    }

    @Test func `a trial that has not begun is begun and ended`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let before = device.mcumgr.runningImage
        try await device.run { bench in
            try await Self.begin(image, .test, until: "reset", on: bench)
            try await bench.peripheral.withQueue { queue in
                let outcome = try await queue.connecting().run(FirmwareRevertFlow(image))
                #expect(outcome == .reverted)
            }
            #expect(device.mcumgr.runningImage == before && device.mcumgr.isConfirmed)
            #expect(device.mcumgr.restarts == 2)
        }
    }

    @Test func `an image that is marked to stay is not begun by what is to end its trial`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            try await Self.begin(image, .confirm, until: "reset", on: bench)
            try await bench.peripheral.withQueue { queue in
                let error = await bleError { try await queue.connecting().run(FirmwareRevertFlow(image)) }
                #expect(error?.code == .updateFailed && error?.cause.contains("permanent") == true)
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

    @Test func `what the device has from an earlier run counts in no rate`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(100_000))
        try await device.run { bench in
            bench.air.faults.add(.dropLink(after: 100, .writeCommands))
            let error = await bleError {
                try await bench.peripheral.withLink { link in try await link.run(Self.update(image, .upload)) }
            }
            #expect(error?.code == .disconnected)
            let told = Recorder<CommandProgress>()
            try await bench.peripheral.withQueue { queue in
                try await queue.connecting().run(Self.update(image, .upload), replacing: .activeFlow) { progress in
                    if progress.phase == "upload" { told.add(progress) }
                }
            }
            #expect((told.all.compactMap(\.completed).first { $0 > 0 } ?? 0) > 20_000)
            // No radio is faster.
            let limit = try #require(LinkTiming.fast.throughput(pduSize: 517))
            let rates = told.all.compactMap(\.rate)
            #expect(!rates.isEmpty && rates.allSatisfy { $0 < limit }, "\(rates.max() ?? 0)")
        }
    }

    private static let match: [UInt8] = [0x65] + Array("match".utf8)
    /// Answers to the last part of an image.
    private static let lastAnswers = PDUFilter.where { pdu in
        pdu.first == 0x1B && pdu.suffix(7).elementsEqual(Self.match + [0xF5])
    }
    /// Has the device call an image damaged that it lists all the same, by the right hash, as Zephyr does.
    private static let damage = Fault.replace(Self.lastAnswers) { pdu in pdu.dropLast() + [0xF4] }

    @Test(arguments: [false, true])
    func `an image that the device lists and calls damaged is erased, and sent again by the next update`(
        losesLink: Bool
    ) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            // Its answer to the last part is lost with the link: it is asked again.
            if losesLink { bench.air.faults.add(.dropLink(insteadOf: Self.lastAnswers)) }
            bench.air.faults.add(Self.damage.times(1))
            try await bench.peripheral.withQueue { queue in
                let (queue, update) = (queue.connecting(), Self.update(image, .testAndConfirm))
                let error = await bleError { try await queue.run(update) }
                #expect(error?.code == .updateFailed && error?.cause.contains("another hash") == true)
                #expect(error?.remedy == "Try again.")
                bench.air.clearTrace()
                try await queue.run(update)
            }
            let sent = bench.sent(by: .central).filter { $0.first == 0x52 }.map(\.count).reduce(0, +)
            #expect(sent > 5000, "only \(sent) octets were sent of an image that the device has not")
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
        }
    }

    @Test func `where the device does not erase a damaged image, another image replaces it`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            bench.air.faults.add(Self.damage.times(1))
            // Image erase becomes a command that the device doesn't know.
            let erase = PDUFilter.where { $0.count > 11 && $0[0] == 0x52 && $0[7...8] == [0, 1] && $0[10] == 5 }
            bench.air.faults.add(.replace(erase) { Array($0[..<10]) + [0xFE] + $0[11...] })
            bench.air.faults.add(
                .replace(.where { $0.count > 11 && $0[0] == 0x1B && $0[10] == 0xFE }) { pdu in
                    Array(pdu[..<10]) + [5] + pdu[11...]
                }
            )
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                let error = await bleError { try await queue.run(Self.update(image, .testAndConfirm)) }
                #expect(error?.cause.contains("another hash") == true)
                #expect(error?.remedy.contains("did not erase the damaged one (not supported (code 8))") == true)
                // What the remedy says.
                try await queue.run(Self.update(try UpdateDevice.firmware(3000, 3), .upload))
                bench.air.clearTrace()
                try await queue.run(Self.update(image, .testAndConfirm))
            }
            #expect(bench.sent(by: .central).filter { $0.first == 0x52 }.map(\.count).reduce(0, +) > 5000)
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
