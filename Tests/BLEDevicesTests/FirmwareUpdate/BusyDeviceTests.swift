import BLEDevices
import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Devices on MCUmgr that can't take a request now, and say so or say nothing.
@Suite(.timeLimit(.minutes(10))) struct BusyDeviceTests {
    /// Has the device refuse requests to upload: it takes nothing of them, and answers each with this failure.
    ///
    /// - Parameters:
    ///   - times: how many requests, `nil`: all.
    ///   - skipping: how many it takes before.
    static func refuseUploads(_ bench: Bench, times: Int?, skipping: Int, with body: CBORValue) {
        // A command that the device doesn't know, for which its answer is changed.
        let unknown: UInt8 = 0xFE
        let request = Fault.replace(
            .where { $0.count > 11 && $0[0] == 0x52 && $0[3] & 7 == 2 && $0[7...8] == [0, 1] && $0[10] == 1 },
            by: { Array($0[..<10]) + [unknown] + $0[11...] }
        ).skipping(skipping)
        bench.air.faults.add(times.map { request.times($0) } ?? request)
        bench.air.faults.add(
            .replace(.where { $0.count > 11 && $0[0] == 0x1B && $0[10] == unknown }) { pdu in
                Array(pdu[..<5]) + [0, UInt8(body.encoded.count)] + pdu[7..<10] + [1] + body.encoded
            }
        )
    }

    static let busy = CBORValue.map(["rc": .integer(10)])
    static let outOfMemory = CBORValue.map(["rc": .integer(2)])

    /// What comes of an update of a device that is spoilt.
    func update(
        _ device: UpdateDevice,
        _ spoil: @escaping @Sendable (Bench) -> Void
    ) async throws -> (error: BLEError?, time: Duration) {
        let image = try UpdateDevice.firmware(40_000)
        let errors = Recorder<BLEError>()
        let times = Recorder<Duration>()
        try await device.run { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await queue.run(.connect)
                spoil(bench)
                let begin = bench.time.now
                do {
                    try await queue.run(FirmwareUpdateFlow(image, over: .mcumgr()))
                } catch let error as BLEError {
                    errors.add(error)
                }
                times.add(bench.time.now - begin)
            }
        }
        return (errors.all.first, try #require(times.all.first))
    }

    @Test(arguments: [
        busy, .map(["err": .map(["group": .integer(1), "rc": .integer(16)])]), .map(["rc": .integer(4)]), outOfMemory,
    ])
    func `one busy in the middle of an upload, with the offset in the answers behind it, is got over`(
        answer: CBORValue
    ) async throws {
        let device = UpdateDevice()
        let outcome = try await update(device) { Self.refuseUploads($0, times: 1, skipping: 30, with: answer) }
        #expect(outcome.error == nil, "\(outcome.error as Any)")
        #expect(device.mcumgr.isConfirmed && device.mcumgr.restarts == 1)
    }

    @Test func `out of memory with the first part, which may be a lack of slots, is told at once`() async throws {
        let device = UpdateDevice()
        let outcome = try await update(device) { Self.refuseUploads($0, times: 1, skipping: 0, with: Self.outOfMemory) }
        #expect(outcome.error?.code == .updateFailed && outcome.error?.cause.contains("out of memory (code 2)") == true)
        #expect(device.mcumgr.restarts == 0 && outcome.time < .seconds(5))
    }

    @Test func `busy with the first part, and busy several times in a row, is got over after pauses`() async throws {
        let device = UpdateDevice()
        let outcome = try await update(device) { Self.refuseUploads($0, times: 4, skipping: 0, with: Self.busy) }
        #expect(outcome.error == nil, "\(outcome.error as Any)")
        // 250 ms, 500 ms, 1 s, 2 s, each a fifth shorter at most.
        #expect(device.mcumgr.isConfirmed && outcome.time > .seconds(3))
    }

    @Test func `a device that stays busy is given up in the end, with what it said`() async throws {
        let device = UpdateDevice()
        let outcome = try await update(device) { Self.refuseUploads($0, times: nil, skipping: 30, with: Self.busy) }
        #expect(outcome.error?.code == .updateFailed && outcome.error?.cause.contains("busy (code 10)") == true)
        #expect(outcome.error?.remedy.contains("Reset") == false)
        #expect(device.mcumgr.restarts == 0 && outcome.time < .seconds(90))
    }

    @Test func `a device that stays out of memory is given up in the end, and a reset is advised`() async throws {
        let device = UpdateDevice()
        let outcome = try await update(device) {
            Self.refuseUploads($0, times: nil, skipping: 30, with: Self.outOfMemory)
        }
        #expect(outcome.error?.code == .updateFailed && outcome.error?.cause.contains("out of memory (code 2)") == true)
        #expect(outcome.error?.remedy.contains("Reset") == true)
        #expect(device.mcumgr.restarts == 0 && outcome.time < .seconds(90))
    }

    @Test func `an upload that nobody goes on with and that keeps the memory is told with what ends it`() async throws {
        let held = CBORValue.map(["err": .map(["group": .integer(1), "rc": .integer(16)])])
        let outcome = try await update(UpdateDevice()) { Self.refuseUploads($0, times: nil, skipping: 0, with: held) }
        #expect(outcome.error?.cause.contains("another upload is under way") == true)
        #expect(outcome.error?.remedy.contains("reset the device") == true)
    }

    /// Beside a client on another transport, all buffers of a device may hold requests: it has none for an answer then.
    @Test(arguments: [busy, outOfMemory], [MCUmgrMessage.Operation.readResponse, .writeResponse])
    func `a request other than an upload is asked again too`(
        answer: CBORValue,
        operation: MCUmgrMessage.Operation
    ) async throws {
        let device = UpdateDevice()
        let outcome = try await update(device) { bench in
            // The first list of images is a refusal, or the answer when the image is marked.
            let isRefused = PDUFilter.where {
                $0.count > 11 && $0[0] == 0x1B && $0[3] & 7 == operation.rawValue && $0[7...8] == [0, 1] && $0[10] == 0
            }
            bench.air.faults.add(
                .replace(isRefused) { pdu in
                    let body = answer.encoded
                    return Array(pdu[..<5]) + [0, UInt8(body.count)] + pdu[7..<11] + body
                }.times(1)
            )
        }
        #expect(outcome.error == nil && device.mcumgr.isConfirmed, "\(outcome.error as Any)")
    }

    @Test func `answers that are lost, and requests that are lost, cost a pause and not the update`() async throws {
        for filter in [PDUFilter.notifications, .writeCommands] {
            let device = UpdateDevice()
            let outcome = try await update(device) { $0.air.faults.add(.swallow(filter).skipping(40).times(8)) }
            #expect(outcome.error == nil && device.mcumgr.isConfirmed, "\(outcome.error as Any)")
            #expect(device.mcumgr.restarts == 1)
        }
    }

    @Test func `an answer of which a part is lost is asked for again`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(2000))
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { try await device.live($0, $1) }
        let narrow = AdapterSettings(maximumPDUSize: 23)
        try await Bench.run(description: device.description, settings: narrow, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                // The first answer, the list of images, takes several notifications.
                bench.air.faults.add(.swallow(.notifications).skipping(1).times(1))
                try await queue.connecting().run(FirmwareUpdateFlow(image, over: .mcumgr()))
            }
        }
        #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
    }

    @Test func `an answer that goes on is waited for, however many parts it has`() async throws {
        let image = try UpdateDevice.firmware(2000)
        // It runs already: the list of images is the only answer.
        let device = MCUmgrFirmwareReceiver(running: image.bytes)
        let waits = Recorder<Duration>()
        let slow = LocalPeripheral(name: "Slow") { device.service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await device.run(on: server)
        }
        let narrow = AdapterSettings(maximumPDUSize: 23)
        try await Bench.run(description: slow, settings: narrow, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await queue.run(.connect)
                for part in 0..<20 {
                    bench.air.faults.add(.delay(.notifications, by: .seconds(4 * part)).times(1))
                }
                let begin = bench.time.now
                try await queue.run(FirmwareUpdateFlow(image, over: .mcumgr(.init(patience: .seconds(10)))))
                waits.add(bench.time.now - begin)
            }
        }
        // One request, whose answer takes longer than the patience in all.
        #expect(waits.all.count == 1 && waits.all.allSatisfy { $0 > .seconds(10) && $0 < .seconds(40) })
    }

    @Test func `answers to what nobody has asked don't prolong the wait for one`() async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(2000))
        let service = device.mcumgr.service
        let characteristic = service.characteristics[0].uuid
        let stale = MCUmgrMessage(.readResponse, .imageState, sequence: 0xEE, body: .map([])).encoded
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for _ in 0..<100 {
                try await bench.time.sleep(for: .seconds(3))
                try await server.notify(stale, of: characteristic)
            }
            for try await _ in server.centralEvents {}
        }
        let options = FirmwareUpdateFlow.MCUmgrOptions(
            patience: .seconds(10),
            retry: .constant(.seconds(1), attempts: 1)
        )
        let talker = LocalPeripheral(name: "Talker") { service }
        try await Bench.run(description: talker, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                try await queue.run(.connect)
                let begin = bench.time.now
                let error = await bleError {
                    try await queue.run(FirmwareUpdateFlow(image, over: .mcumgr(options)))
                }
                #expect(error?.code == .timedOut && error?.elapsed == .seconds(10))
                #expect(error?.cause.contains("has not begun or continued its answer") == true)
                #expect(bench.time.now - begin < .seconds(60))
            }
        }
    }

    @Test func `no free slot is told with what frees one`() async throws {
        let taken = CBORValue.map(["err": .map(["group": .integer(1), "rc": .integer(9)])])
        let outcome = try await update(UpdateDevice()) { Self.refuseUploads($0, times: nil, skipping: 0, with: taken) }
        #expect(outcome.error?.cause.contains("no free slot") == true)
        let remedy = try #require(outcome.error?.remedy)
        #expect(remedy.contains("erase") && remedy.contains("confirm") && !remedy.contains("Reset"))
        let pending = CBORValue.map(["err": .map(["group": .integer(1), "rc": .integer(28)])])
        let other = try await update(UpdateDevice()) { Self.refuseUploads($0, times: nil, skipping: 0, with: pending) }
        #expect(other.error?.remedy.contains("Reset the device so that it runs the pending image") == true)
    }

    @Test func `an image that is older than what runs is told as that, and not as one for another device`() async throws
    {
        let older = CBORValue.map(["err": .map(["group": .integer(1), "rc": .integer(27)])])
        let outcome = try await update(UpdateDevice()) { Self.refuseUploads($0, times: nil, skipping: 0, with: older) }
        #expect(outcome.error?.cause.contains("a newer version is installed") == true)
        #expect(outcome.error?.remedy.contains("higher version") == true)
    }
}
