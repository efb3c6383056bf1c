import BLEProtocol
import BLESimulator
import Foundation
import Testing

@testable import BLEDevices
@testable import BLEStreams
@testable import BLEStreamsTests

@Suite(.timeLimit(.minutes(10))) struct UpdateTroubleTests {
    /// An update of a device, with something wrong; what comes of it, and the device is well afterwards.
    func failure(
        _ image: FirmwareImage,
        over method: FirmwareUpdateFlow.Method,
        device: UpdateDevice = UpdateDevice(),
        patience: Duration = .seconds(20),
        _ spoil: @escaping @Sendable (Bench) -> Void = { _ in }
    ) async throws -> BLEError {
        let errors = Recorder<BLEError>()
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await queue.run(.connect)
                spoil(bench)
                let flow = FirmwareUpdateFlow(
                    image,
                    over: method,
                    resume: .constant(.seconds(1), attempts: 2),
                    patience: patience
                )
                if let error = await bleError({ try await queue.run(flow) }) { errors.add(error) }
                bench.air.faults.removeAll()
                // The queue goes on, and the device has its former firmware and listens to nothing.
                try await queue.run(.block("look") { try await $0.expectNoSubscriptions() })
                let level = try await queue.run(.read(UpdateDevice.battery))
                #expect(Array(level) == [87])
                #expect(device.plain.image == nil && device.mcumgr.restarts == 0)
            }
        }
        return try #require(errors.all.first)
    }

    /// Changes each status that the device notifies or is read.
    static func statuses(_ change: @escaping @Sendable (inout PlainUpdateStatus) -> Void) -> Fault {
        let filter = PDUFilter.where { $0.count == 23 && $0[0] == 0x1B }
        return .replace(filter) { pdu in
            guard var status = PlainUpdateStatus(pdu.dropFirst(3)) else { return pdu }
            change(&status)
            return pdu.prefix(3) + status.encoded
        }
    }

    @Test func `an image that is too large or for another model is refused before anything is sent`() async throws {
        let image = try UpdateDevice.firmware(50_000)
        let small = UpdateDevice(capacity: 10_000)
        for method: FirmwareUpdateFlow.Method in [.plain(), .mcumgr()] {
            let error = try await failure(image, over: method, device: small) { $0.air.clearTrace() }
            #expect(error.code == .invalidArgument && error.cause.contains("10000 at most"))
        }
        let other = try await failure(image, over: .plain(model: 9))
        #expect(other.code == .invalidArgument && other.cause.contains("model 9"))
        let elf = try FirmwareImage([0x7F, 0x45, 0x4C, 0x46] + [UInt8](repeating: 0, count: 500))
        let wrong = try await failure(elf, over: .mcumgr())
        #expect(wrong.code == .invalidArgument && wrong.cause.contains("MCUboot"))
    }

    @Test func `a device without an update service is told apart`() async throws {
        let image = try UpdateDevice.firmware(1000)
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError { try await link.run(FirmwareUpdateFlow(image)) }
                #expect(error?.code == .notSupported)
            }
        }
    }

    @Test func `a device without the protocol that is asked for is told apart, too`() async throws {
        let image = try UpdateDevice.firmware(1000)
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { plain in
                let queue = plain.connecting()
                let errors = [
                    await bleError { try await queue.run(FirmwareUpdateFlow(image, over: .mcumgr())) },
                    await bleError { try await queue.run(FirmwareUpdateFlow(image, over: .plain())) },
                    await bleError { _ = try await queue.run(FirmwareRevertFlow(image)) },
                ]
                for error in errors {
                    #expect(error?.code == .notSupported && error?.operation == "update", "\(error as Any)")
                    #expect(error?.remedy.contains("update mode") == true, "\(error as Any)")
                }
            }
        }
    }

    @Test func `a device whose new firmware has no MCUmgr is not told as one that can't be updated`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        // The UUID of its characteristic, as it is sent.
        let uuid: [UInt8] = [
            0x48, 0x7C, 0x99, 0x74, 0x11, 0x26, 0x9E, 0xAE, 0x01, 0x4E, 0xCE, 0xFB, 0x28, 0x78, 0x2E, 0xDA,
        ]
        let other = Array(uuid.reversed())
        let flow = FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: .testAndConfirm)))
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let error = await bleError {
                    try await queue.connecting().run(flow, replacing: .activeFlow) { progress in
                        guard progress.phase == "restart" else { return }
                        bench.air.faults.add(.replace(.where { $0.first == 0x09 }) { $0.replacing(uuid, with: other) })
                    }
                }
                #expect(error?.code == .updateFailed && error?.cause.contains("since its reset") == true)
            }
            #expect(device.mcumgr.runningImage == image.bytes && !device.mcumgr.isConfirmed)
        }
    }

    @Test func `a device that says impossible things is told so`() async throws {
        let image = try UpdateDevice.firmware(40_000)
        let back = try await failure(image, over: .plain()) { bench in
            bench.air.faults.add(Self.statuses { if $0.offset > 9000 { $0.offset = 100 } })
        }
        #expect(back.code == .protocolViolation && back.cause.contains("now reports 100"))
        let beyond = try await failure(image, over: .plain()) { bench in
            bench.air.faults.add(Self.statuses { if $0.offset > 9000 { $0.offset = 1_000_000 } })
        }
        #expect(beyond.code == .protocolViolation && beyond.cause.contains("requests octet 1000000"))
        let early = try await failure(image, over: .plain()) { bench in
            bench.air.faults.add(Self.statuses { if $0.offset > 9000 { $0.offset = 39_999 } })
        }
        #expect(early.code == .protocolViolation && early.cause.contains("were sent"))
        let garbage = try await failure(image, over: .plain()) { bench in
            bench.air.faults.add(.replace(.notifications) { $0.prefix(3) + [1, 2, 3] })
        }
        #expect(garbage.code == .malformedValue && garbage.received == [1, 2, 3])
        #expect(!garbage.remedy.isEmpty && "\(garbage)".contains("3 octets"))
    }

    @Test(arguments: [Int.min, -1, 0, 1, .max])
    func `a device that has no such number of buffers is updated all the same`(buffers: Int) async throws {
        let (device, image) = (UpdateDevice(buffers: buffers), try UpdateDevice.firmware(2000))
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                try await queue.connecting().run(FirmwareUpdateFlow(image, over: .mcumgr()))
            }
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
        }
    }

    @Test func `a device that fails says why`() async throws {
        let image = try UpdateDevice.firmware(40_000)
        let failed = try await failure(image, over: .plain()) { bench in
            bench.air.faults.add(
                Self.statuses { status in
                    guard status.offset > 9000 else { return }
                    status.state = .failed
                    status.failure = .storage
                }
            )
        }
        #expect(failed.code == .updateFailed && failed.cause.contains("could not be stored"))
        let wrong = try await failure(image, over: .plain()) { bench in
            let data = PDUFilter.where { $0.first == 0x52 && $0.count > 100 }
            bench.air.faults.add(.corrupt(data).times(1))
        }
        #expect(wrong.code == .updateFailed && wrong.cause.contains("does not match the announced hash"))
        let nameless = try await failure(image, over: .plain()) { bench in
            bench.air.faults.add(
                Self.statuses { ($0.state, $0.failure, $0.image) = (.failed, .wrongModel, [0, 0, 0, 0]) }
            )
        }
        #expect(nameless.code == .updateFailed && nameless.cause.contains("another model"))
        let pending = UpdateDevice()
        let refused = try await failure(image, over: .mcumgr(), device: pending) { bench in
            // As if the device answered each upload with "no free slot".
            bench.air.faults.add(
                .replace(.where { $0.first == 0x1B && $0.count > 11 && $0[10] == 1 }) { pdu in
                    let body = CBORValue.map(["err": .map(["group": .integer(1), "rc": .integer(9)])]).encoded
                    return Array(pdu[..<5]) + [0, UInt8(body.count)] + pdu[7..<11] + body
                }
            )
        }
        #expect(refused.code == .updateFailed && refused.cause.contains("no free slot"))
    }

    @Test func `a device that stalls is given up`() async throws {
        let image = try UpdateDevice.firmware(40_000)
        for method: FirmwareUpdateFlow.Method in [
            .plain(), .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(patience: .seconds(5), erasePatience: .seconds(9))),
        ] {
            let error = try await failure(image, over: method, patience: .seconds(5)) { bench in
                bench.air.faults.add(.swallow(.notifications).skipping(2))
            }
            #expect(error.code == .timedOut)
        }
    }

    @Test func `a device that goes back again and again is given up`() async throws {
        let image = try UpdateDevice.firmware(40_000)
        let error = try await failure(image, over: .mcumgr()) { bench in
            // All uploads but the first vanish, and are answered with the same offset.
            bench.air.faults.add(
                .replace(.where { $0.first == 0x1B && $0.count > 11 && $0[10] == 1 }) { pdu in
                    let body = CBORValue.map(["off": .integer(100)]).encoded
                    return Array(pdu[..<5]) + [0, UInt8(body.count)] + pdu[7..<11] + body
                }
            )
        }
        #expect(error.code == .protocolViolation && error.cause.contains("repeatedly returns to octet"))
    }

    @Test func `a link that can't be made again ends the update`() async throws {
        let image = try UpdateDevice.firmware(40_000)
        let device = UpdateDevice()
        try await device.run { bench in
            try await bench.peripheral.withLink { link in
                bench.air.faults.add(.dropLink(after: 20, .writeCommands))
                let error = await bleError { try await link.run(FirmwareUpdateFlow(image, over: .plain())) }
                #expect(error?.code == .disconnected)
            }
        }
    }

    @Test func `a device that does not come back from its reset is given up when its time is over`() async throws {
        let image = try UpdateDevice.firmware(1000)
        let device = UpdateDevice()
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                let restart = Recorder<Duration>()
                let options = FirmwareUpdateFlow.MCUmgrOptions(resetPatience: .seconds(90))
                let error = await bleError {
                    try await flows.run(FirmwareUpdateFlow(image, over: .mcumgr(options)), replacing: .activeFlow) {
                        progress in
                        guard progress.phase == "restart", restart.all.isEmpty else { return }
                        restart.add(bench.time.now)
                        bench.air.faults.add(.outOfRange(), on: bench.peripheralAdapter)
                    }
                }
                #expect(error?.code == .timedOut)
                // The last attempt may begin just before.
                let elapsed = try bench.time.now - #require(restart.all.first)
                #expect(elapsed >= .seconds(90) && elapsed < .seconds(130), "\(elapsed)")
            }
        }
    }

    @Test(arguments: [true, false])
    func `in the queue of a session such a device is given up too, and the queue goes on`(isUpdate: Bool) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(1000))
        try await device.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let options = FirmwareUpdateFlow.MCUmgrOptions(
                    mode: isUpdate ? .testAndConfirm : .test,
                    resetPatience: .seconds(90)
                )
                let update = FirmwareUpdateFlow(image, over: .mcumgr(options))
                if !isUpdate { try await session.queue.run(update) }
                let restart = Recorder<Duration>()
                let leave: @Sendable (CommandProgress) -> Void = { progress in
                    guard progress.phase == "restart", restart.all.isEmpty else { return }
                    restart.add(bench.time.now)
                    bench.air.faults.add(.outOfRange(lasting: .seconds(600)), on: bench.peripheralAdapter)
                }
                let error = await bleError {
                    if isUpdate {
                        try await session.queue.run(update, replacing: .activeFlow, onProgress: leave)
                    } else {
                        let revert = FirmwareRevertFlow(image, options: options)
                        try await session.queue.run(revert, replacing: .activeFlow, onProgress: leave)
                    }
                }
                #expect(error?.code == .timedOut)
                let elapsed = try bench.time.now - #require(restart.all.first)
                #expect(elapsed >= .seconds(90) && elapsed < .seconds(130), "\(elapsed)")
                let battery = try await session.queue.run(.read(UpdateDevice.battery))
                #expect(Array(battery) == [87])
            }
        }
    }

    // MARK: - Files

    @Test func `files that are no firmware are refused, and why is told`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "firmware-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let missing = #expect(throws: BLEError.self) { try FirmwareImage(file: folder.appending(path: "no").path) }
        #expect(missing?.systemError == ENOENT)
        let directory = #expect(throws: BLEError.self) { try FirmwareImage(file: folder.path) }
        #expect(directory?.cause.contains("not a regular file") == true)
        // Nobody writes to it.
        let pipe = folder.appending(path: "pipe").path
        try #require(mkfifo(pipe, 0o600) == 0)
        let endless = #expect(throws: BLEError.self) { try FirmwareImage(file: pipe) }
        #expect(endless?.cause.contains("not a regular file") == true)
        let empty = folder.appending(path: "empty")
        try Data().write(to: empty)
        #expect(throws: BLEError.self) { try FirmwareImage(file: empty.path) }
        let whole = folder.appending(path: "whole")
        try Data([1, 2, 3]).write(to: whole)
        let image = try FirmwareImage(file: whole.path)
        #expect(image.bytes == [1, 2, 3] && !image.isForMCUboot)
        let cut = #expect(throws: BLEError.self) {
            // A file that somebody cuts off after it was opened.
            _ = try FirmwareImage.read(whole.path) { descriptor, buffer in
                truncate(whole.path, 1)
                return read(descriptor, buffer.baseAddress, buffer.count)
            }
        }
        #expect(cut?.cause.contains("ended after 1") == true)
        try Data([1, 2, 3]).write(to: whole)
        for (number, isFinal) in [(ENOMEM, false), (EIO, true)] {
            let error = #expect(throws: BLEError.self) {
                _ = try FirmwareImage.read(whole.path) { _, _ in
                    errno = number
                    return -1
                }
            }
            #expect(error?.systemError == number && error?.isFinal == isFinal)
        }
    }
}
