import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

@Suite(.timeLimit(.minutes(10))) struct FirmwareUpdateTests {
    static let methods: [FirmwareUpdateFlow.Method] = [.plain(), .mcumgr()]

    @Test func `the plain protocol brings an image over, and leaves nothing switched on`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware())
        try await device.run { bench in
            try await bench.peripheral.withLink { link in
                try await link.run(FirmwareUpdateFlow(image, over: .plain(model: 7)))
                #expect(device.plain.image == image.bytes)
                try await link.expectNoSubscriptions()
            }
        }
    }

    @Test func `MCUmgr uploads, tries, resets and confirms`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware())
        try await device.run { bench in
            let phases = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(FirmwareUpdateFlow(image), replacing: .activeFlow) { progress in
                    if phases.all.last != progress.phase { phases.add(progress.phase) }
                }
            }
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
            #expect(device.mcumgr.restarts == 1)
            #expect(phases.all == ["prepare", "upload", "verify", "test", "reset", "restart", "confirm"])
        }
    }

    @Test func `a link that is lost just after the device has come back from its reset is made again`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(1000))
        try await device.run { bench in
            let restarts = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(FirmwareUpdateFlow(image), replacing: .activeFlow) { progress in
                    guard progress.phase == "restart", restarts.all.isEmpty else { return }
                    restarts.add(progress.phase)
                    // Exchange MTU Request.
                    bench.air.faults.add(.dropLink(insteadOf: .opcode(0x02)))
                }
            }
            #expect(restarts.all.count == 1)
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
        }
    }

    @Test(arguments: FirmwareUpdateFlow.MCUmgrOptions.Mode.allCases)
    func `each mode does what it says, and again it does nothing`(mode: FirmwareUpdateFlow.MCUmgrOptions.Mode)
        async throws
    {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await queue.run(
                    FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: mode)))
                )
                try await bench.time.sleep(for: .seconds(5))
                #expect((device.mcumgr.runningImage == image.bytes) == (mode != .upload))
                #expect(device.mcumgr.isConfirmed == (mode != .test))
                #expect(device.mcumgr.restarts == (mode == .upload ? 0 : 1))
                guard mode == .testAndConfirm else { return }
                try await queue.run(FirmwareUpdateFlow(image))
                #expect(device.mcumgr.restarts == 1)
            }
        }
    }

    @Test(arguments: [FirmwareUpdateFlow.MCUmgrOptions.Mode.test, .confirm], [false, true])
    func `what comes behind an update in its queue comes behind the reset too`(
        mode: FirmwareUpdateFlow.MCUmgrOptions.Mode,
        isOfSession: Bool
    ) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let update = FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: mode)))
        try await device.run { bench in
            let work: @Sendable (CommandQueue) async throws -> Void = { queue in
                let hasFormerLink = CommandBlock<Bool>("update") { context in
                    try await update.run(in: context)
                    return context.isConnected
                }
                let isUp = try await queue.run(hasFormerLink)
                #expect(!isUp && device.mcumgr.restarts == 1)
                let battery = try await queue.run(.read(UpdateDevice.battery))
                #expect(Array(battery) == [87])
            }
            if isOfSession {
                try await bench.central.withSession(Session.Plan(bench.peripheral)) { try await work($0.queue) }
            } else {
                try await bench.peripheral.withQueue { try await work($0.connecting()) }
            }
            #expect(device.mcumgr.runningImage == image.bytes)
        }
    }

    @Test(arguments: [0, 1]) func `a lost link is made again, and nothing is sent twice`(method: Int) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(100_000))
        try await device.run { bench in
            bench.air.faults.add(.dropLink(after: 70, .writeCommands))
            bench.air.faults.add(.dropLink(after: 90, .writeCommands, reason: .closedByPeer))
            let log = Recorder<Int>()
            try await bench.peripheral.withQueue { queue in
                let flows = queue.connecting()
                try await flows.run(FirmwareUpdateFlow(image, over: Self.methods[method]), replacing: .activeFlow) {
                    progress in
                    if progress.phase == "upload", let completed = progress.completed { log.add(completed) }
                }
            }
            #expect((method == 0 ? device.plain.image : device.mcumgr.runningImage) == image.bytes)
            // After a loss it goes on where the device is, and never from the beginning.
            let links = bench.air.trace.filter { $0.pdu?.first == 0x02 }.count
            #expect(links >= 3)
            #expect(log.all.filter { $0 == 0 }.count <= 3)
            let sent = bench.sent(by: .central).filter { $0.first == 0x52 }.map(\.count).reduce(0, +)
            #expect(sent < 100_000 * 3 / 2, "\(sent)")
        }
    }

    @Test(arguments: [0, 1]) func `a command of somebody else waits until the update is done`(method: Int) async throws
    {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(30_000))
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                try await queue.run(.connect)
                let link = try #require(queue.link)
                _ = try await link.discover()
                bench.air.clearTrace()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let mode = FirmwareUpdateFlow.MCUmgrOptions(mode: .upload)
                    let method = method == 0 ? Self.methods[0] : .mcumgr(mode)
                    group.addTask { try await queue.run(FirmwareUpdateFlow(image, over: method)) }
                    try await bench.time.sleep(for: .milliseconds(300))
                    group.addTask {
                        let level = try await link.read(UpdateDevice.battery)
                        #expect(Array(level) == [87])
                    }
                    group.addTask { try await queue.run(.disconnect) }
                    try await group.waitForAll()
                }
            }
            // Only the update's own characteristics, until its last PDU: the read is answered behind it.
            let sent = bench.sent(by: .central)
            let foreign = try #require(sent.lastIndex { $0.first == 0x0A })
            let last = try #require(sent.lastIndex { $0.first == 0x52 })
            #expect(foreign > last && sent.count > 60)
            #expect(sent[..<last].filter { $0.first == 0x0A }.count <= 1)
        }
    }

    @Test func `a request to reset that is answered as not supported resets nothing`() async throws {
        let device = UpdateDevice()
        let characteristic = try #require(device.mcumgr.service.characteristics.first).uuid
        try await device.run { bench in
            try await bench.peripheral.withLink { link in
                let request = MCUmgrMessage(.read, .reset, sequence: 9, body: .map([]))
                let value = try await link.request(request.encoded, to: characteristic, answeredOn: characteristic)
                let answer = try MCUmgrMessage(decoding: value)
                #expect(answer.command == .reset && answer.body["rc"]?.integer == 8)
                try await bench.time.sleep(for: .seconds(1))
                _ = try await link.read(UpdateDevice.battery)
            }
        }
        #expect(device.mcumgr.restarts == 0)
    }

    @Test(arguments: [UInt8(0), 1]) func `a failure is told in the version of the protocol that asks`(version: UInt8)
        async throws
    {
        let device = UpdateDevice()
        let characteristic = try #require(device.mcumgr.service.characteristics.first).uuid
        let hash = [UInt8](repeating: 9, count: 32)
        let requests: [(MCUmgrMessage.Command, CBORValue, original: Int, failure: Int)] = [
            (.imageUpload, .map(["len": .integer(2000)]), 3, 20),
            (.imageErase, .map(["slot": .integer(0)]), 6, 9),
            (.imageState, .map(["hash": .bytes(hash), "confirm": .bool(false)]), 1, 8),
        ]
        try await device.run { bench in
            try await bench.peripheral.withLink { link in
                for (command, body, original, failure) in requests {
                    let request = MCUmgrMessage(.write, command, sequence: 9, version: version, body: body)
                    let value = try await link.request(request.encoded, to: characteristic, answeredOn: characteristic)
                    let answer = try MCUmgrMessage(decoding: value)
                    #expect(answer.version == version && answer.command == command)
                    #expect(answer.body["rc"]?.integer == (version == 0 ? original : nil))
                    #expect(answer.body["err"]?["rc"]?.integer == (version == 0 ? nil : failure))
                }
            }
        }
    }

    @Test(arguments: [0, 1]) func `the services of the former firmware are not believed behind an update`(method: Int)
        async throws
    {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(5000))
        let trial = FirmwareUpdateFlow.Method.mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: .test))
        try await device.run { bench in
            for isKnown in [false, true] {
                try await bench.peripheral.withLink { link in
                    _ = try await link.discover()
                    #expect(link.servicesAreRemembered == isKnown)
                }
            }
            try await bench.peripheral.withQueue { queue in
                try await queue.connecting().run(FirmwareUpdateFlow(image, over: method == 0 ? .plain() : trial))
            }
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                #expect(!link.servicesAreRemembered)
            }
        }
    }
}
