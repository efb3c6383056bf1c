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

    /// Has the device answer resets, and go on: it gets another command instead, which it doesn't know, and its answer
    /// is changed.
    ///
    /// - Parameter count: how many resets; `nil`: all.
    private static func ignoreResets(_ count: Int? = nil, on bench: Bench) {
        let unknown: UInt8 = 0xFE
        let isReset = PDUFilter.where { $0.count > 11 && $0[0] == 0x52 && $0[7...8] == [0, 0] && $0[10] == 5 }
        let request = Fault.replace(isReset) { Array($0[..<10]) + [unknown] + $0[11...] }
        let answer = Fault.replace(.where { $0.count > 11 && $0[0] == 0x1B && $0[10] == unknown }) { pdu in
            let nothing = CBORValue.map([]).encoded
            return Array(pdu[..<5]) + [0, UInt8(nothing.count)] + pdu[7..<10] + [5] + nothing
        }
        for fault in [request, answer] { bench.air.faults.add(count.map { fault.times($0) } ?? fault) }
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

    @Test func `a device that answers its reset and goes on is given up in time, whatever else is heard`() async throws
    {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            Self.ignoreResets(on: bench)
            let options = FirmwareUpdateFlow.MCUmgrOptions(resetPatience: .seconds(20))
            let begins = Recorder<Duration>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // The flow hears that each scan begins and ends.
                    for _ in 0..<40 {
                        _ = try await bench.central.scan().prefix(for: .seconds(1)).collect()
                        try await bench.time.sleep(for: .seconds(3))
                    }
                }
                let error = await bleError {
                    try await bench.peripheral.withQueue { queue in
                        let flow = FirmwareUpdateFlow(image, over: .mcumgr(options))
                        try await queue.connecting().run(flow, replacing: .activeFlow) { progress in
                            if progress.phase == "restart" { begins.add(bench.time.now) }
                        }
                    }
                }
                let begin = try #require(begins.all.first)
                #expect(error?.code == .timedOut && error?.operation == "restart")
                #expect(bench.time.now - begin < .seconds(30))
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
            #expect(device.mcumgr.restarts == 0)
        }
    }

    @Test(arguments: [1, 2, 3]) func `a link that is lost between the answer and the reset has the device reset again`(
        losses: Int
    ) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            Self.ignoreResets(losses, on: bench)
            let lost = Recorder<String>()
            let update: @Sendable () async throws -> Void = {
                try await bench.peripheral.withQueue { queue in
                    let flow = FirmwareUpdateFlow(image, over: .mcumgr())
                    try await queue.connecting().run(flow, replacing: .activeFlow) { progress in
                        guard progress.phase == "restart", lost.all.count < losses else { return }
                        lost.add(progress.phase)
                        bench.air.faults.add(.dropLink(after: Duration.zero))
                    }
                }
            }
            if losses < 3 {
                try await update()
                #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
            } else {
                let error = await bleError { try await update() }
                #expect(error?.code == .updateFailed && error?.cause.contains("lost 3 times") == true)
            }
            #expect(lost.all.count == losses && device.mcumgr.restarts == (losses < 3 ? 1 : 0))
        }
    }

    @Test func `a device that doesn't come back from its reset is given up when its time is over`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            let options = FirmwareUpdateFlow.MCUmgrOptions(resetPatience: .seconds(10))
            let begins = Recorder<Duration>()
            let error = await bleError {
                try await bench.peripheral.withQueue { queue in
                    let flow = FirmwareUpdateFlow(image, over: .mcumgr(options))
                    try await queue.connecting().run(flow, replacing: .activeFlow) { progress in
                        guard progress.phase == "restart" else { return }
                        begins.add(bench.time.now)
                        // It drops the link, and takes none from then on.
                        bench.air.faults.add(.ignoreConnections)
                    }
                }
            }
            let begin = try #require(begins.all.first)
            #expect(error?.code == .timedOut && error?.operation == "connect")
            #expect(bench.time.now - begin < .seconds(15))
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
