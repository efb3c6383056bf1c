import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Updates over links whose writes hold less than a request: those without an exchange of the MTU, and those that a
/// program finds up when it begins, as after `kill -9`.
@Suite(.timeLimit(.minutes(10))) struct NarrowLinkUpdateTests {
    @Test(arguments: [23, 65, 130, 131]) func `a request takes several writes where one holds too little`(mtu: Int)
        async throws
    {
        let image = try UpdateDevice.firmware(20_000)
        let device = UpdateDevice()
        let elapsed = try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let near = air.adapter(settings: AdapterSettings(maximumPDUSize: mtu))
            let far = air.adapter()
            let central = try await Central.open(.radio(near))
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await device.description.run(on: far) { try await device.mcumgr.run(on: $0) } }
                defer { group.cancelAll() }
                let begin = time.now
                let peripheral = central.peripheral(far.address)
                try await peripheral.withQueue { queue in
                    try await queue.connecting().run(FirmwareUpdateFlow(image, over: .mcumgr()))
                }
                return time.now - begin
            }
        }
        #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed)
        #expect(elapsed < .seconds(60), "a request carries hardly anything of the image: \(elapsed)")
    }

    /// Zephyr, without reassembly: a request that a write cuts off is answered as corrupt.
    @Test func `a device that takes no request in several writes is told with what it needs`() async throws {
        let image = try UpdateDevice.firmware(2000)
        let service = MCUmgrFirmwareReceiver().service
        let characteristic = try #require(service.characteristics.first).uuid
        let device = LocalPeripheral(name: "Narrow") { service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            for try await write in server.writes(to: characteristic) {
                guard write.acceptInTime(), let header = MCUmgrMessage.Header(write.value),
                    let operation = header.operation.response
                else { continue }
                let isWhole = (try? MCUmgrMessage(decoding: write.value)) != nil
                let body: CBORValue =
                    switch header.command {
                    case _ where !isWhole: .map(["rc": .integer(9)])
                    case .imageState: .map(["images": .array([])])
                    default: .map(["rc": .integer(8)])
                    }
                let answer = MCUmgrMessage(operation, header.command, sequence: header.sequence, body: body)
                try await server.notify(answer.encoded, of: characteristic, to: write.central)
            }
        }
        let narrow = AdapterSettings(maximumPDUSize: 23)
        try await Bench.run(description: device, settings: narrow, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let error = await bleError { try await queue.connecting().run(FirmwareUpdateFlow(image)) }
                #expect(error?.code == .updateFailed && error?.cause.contains("has 20 octets at most") == true)
                #expect(error?.remedy.contains("REASSEMBLY") == true && error?.remedy.contains("Reset") == false)
            }
        }
    }

    /// The radio has room for few writes, so that nearly each moment is one within a request.
    @Test(arguments: [0, 1, 2, 3, 5, 8, 13, 21, 34, 55], [false, true])
    func `an update that is ended within a request is followed by another one on the same link`(
        milliseconds: Int,
        isReplaced: Bool
    ) async throws {
        let image = try UpdateDevice.firmware(20_000)
        let device = UpdateDevice()
        let update = FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: .upload)))
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            air.traceCapacity = 100_000
            let near = air.adapter(settings: AdapterSettings(maximumPDUSize: 23, sendBufferSize: 1000))
            let far = air.adapter()
            let central = try await Central.open(.radio(near))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await device.description.run(on: far) { try await device.mcumgr.run(on: $0) } }
                defer { group.cancelAll() }
                try await central.peripheral(far.address).withQueue { queue in
                    let queue = queue.connecting()
                    let (progress, ends) = (Recorder<Int>(), Recorder<Bool>())
                    try await withThrowingTaskGroup(of: Void.self) { flows in
                        flows.addTask {
                            do {
                                try await queue.run(update, replacing: .activeFlow) { progress.add($0.completed ?? 0) }
                            } catch { ends.add(error is CancellationError) }
                        }
                        while progress.all.last ?? 0 < 3000 { try await time.sleep(for: .milliseconds(1)) }
                        try await time.sleep(for: .milliseconds(milliseconds))
                        if !isReplaced {
                            flows.cancelAll()
                            try await flows.waitForAll()
                        }
                        let begin = time.now
                        try await queue.run(update, replacing: .activeFlow)
                        #expect(time.now - begin < .seconds(60))
                        try await flows.waitForAll()
                    }
                    #expect(ends.all == [!isReplaced])
                }
            }
            // Exchange MTU Request: one link.
            #expect(air.trace.count { $0.sender == .central && $0.pdu?.first == 0x02 } == 1)
        }
    }

    @Test func `an update that is cancelled within a request waits for its rest for a few seconds at most`()
        async throws
    {
        let image = try UpdateDevice.firmware(2000)
        let device = UpdateDevice()
        let update = FirmwareUpdateFlow(image, over: .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: .upload)))
        // One PDU a second in each direction.
        let lazy = LinkTiming(
            connectionInterval: .seconds(1),
            packetsPerEvent: 1,
            supervisionTimeout: .seconds(30)
        )
        let settings = AdapterSettings(linkTiming: lazy, maximumPDUSize: 23, sendBufferSize: 1000)
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(settings: settings), air.adapter())
            let central = try await Central.open(.radio(near))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await device.description.run(on: far) { try await device.mcumgr.run(on: $0) } }
                defer { group.cancelAll() }
                try await central.peripheral(far.address).withQueue { queue in
                    let queue = queue.connecting(timeout: .seconds(120))
                    let phases = Recorder<String>()
                    try await withThrowingTaskGroup(of: Void.self) { flows in
                        flows.addTask {
                            do {
                                try await queue.run(update, replacing: .activeFlow) { phases.add($0.phase) }
                                Issue.record("it was not cancelled")
                            } catch {
                                #expect(error is CancellationError || (error as? BLEError)?.code == .disconnected)
                            }
                        }
                        while phases.all.last != "upload" { try await time.sleep(for: .milliseconds(100)) }
                        try await time.sleep(for: .seconds(3))
                        let begin = time.now
                        flows.cancelAll()
                        try await flows.waitForAll()
                        // The request has 26 parts.
                        #expect(time.now - begin < .seconds(10))
                    }
                    try await queue.run(update, replacing: .activeFlow)
                }
            }
        }
    }
}
