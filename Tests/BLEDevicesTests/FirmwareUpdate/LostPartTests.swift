import BLEDevices
import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Updates on a link whose notifications hold less than an answer, with several requests in flight.
@Suite(.timeLimit(.minutes(10))) struct LostPartTests {
    private static let service = MCUmgrFirmwareReceiver().service

    /// Acts as a device whose answers to parts of an image take two notifications each; keeps the image it gets.
    private static func serve(
        _ server: PeripheralServer,
        _ image: FirmwareImage,
        _ images: Recorder<[UInt8]>,
        answering kind: MCUmgrMessage.Operation? = nil
    ) async throws {
        let characteristic = service.characteristics[0].uuid
        var reassembler = MCUmgrReassembler()
        var octets: [UInt8] = []
        for try await write in server.writes(to: characteristic) {
            guard write.acceptInTime() else { continue }
            for case .success(let request) in reassembler.append(write.value) {
                guard let operation = kind ?? request.operation.response else { continue }
                if request.command == .imageUpload, request.body["off"]?.integer == octets.count {
                    octets += request.body["data"]?.bytes ?? []
                    if octets.count == image.bytes.count { images.add(octets) }
                }
                let listed: [CBORValue] =
                    octets.count == image.bytes.count ? [.map(["hash": .bytes(image.bootHash ?? [])])] : []
                let body: CBORValue =
                    switch request.command {
                    case .parameters: .map(["buf_size": .integer(512), "buf_count": .integer(5)])
                    case .imageState: .map(["images": .array(listed)])
                    case .imageUpload:
                        .map(["rc": .integer(0), "off": .integer(octets.count), "rsn": .text("all is well")])
                    default: .map(["rc": .integer(8)])
                    }
                let answer = MCUmgrMessage(operation, request.command, sequence: request.sequence, body: body)
                var rest = answer.encoded[...]
                while !rest.isEmpty {
                    let part = rest.prefix(write.central.maximumValueLength)
                    try await server.notify(part, of: characteristic, to: write.central)
                    rest = rest.dropFirst(part.count)
                }
            }
        }
    }

    /// Behind the fourth notification, each answer to a part of the image has two: the first or the second one is lost.
    @Test(arguments: [10, 11, 20, 21]) func `a part that is lost costs its answer only`(place: Int) async throws {
        let image = try UpdateDevice.firmware(20_000)
        let images = Recorder<[UInt8]>()
        let device = LocalPeripheral(name: "Wordy") { Self.service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await Self.serve(server, image, images)
        }
        let narrow = AdapterSettings(maximumPDUSize: 23)
        try await Bench.run(description: device, settings: narrow, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                bench.air.faults.add(.swallow(.notifications).skipping(place).times(1))
                let options = FirmwareUpdateFlow.MCUmgrOptions(mode: .upload)
                try await queue.connecting().run(FirmwareUpdateFlow(image, over: .mcumgr(options)))
            }
        }
        #expect(images.all == [image.bytes])
    }

    /// Behind the end of an upload, a device wants the first part of another one, and answers that with how much it has.
    @Test func `an answer that is lost costs no update, wherever it is lost`() async throws {
        let image = try UpdateDevice.firmware(3000)
        for place in 0..<12 {
            let device = UpdateDevice()
            try await device.run { bench in
                let lost = bench.air.faults.add(.swallow(.notifications).skipping(place).times(1))
                let options = FirmwareUpdateFlow.MCUmgrOptions(mode: .testAndConfirm)
                try await bench.peripheral.withQueue { queue in
                    try await queue.connecting().run(FirmwareUpdateFlow(image, over: .mcumgr(options)))
                }
                #expect(bench.air.faults.strikes(of: lost) == 1)
            }
            #expect(device.mcumgr.runningImage == image.bytes && device.mcumgr.isConfirmed, "answer \(place)")
        }
    }

    @Test func `an answer that calls itself one to a read is taken, whatever was asked for`() async throws {
        let image = try UpdateDevice.firmware(2000)
        let images = Recorder<[UInt8]>()
        let device = LocalPeripheral(name: "Reader") { Self.service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await Self.serve(server, image, images, answering: .readResponse)
        }
        try await Bench.run(description: device, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let options = FirmwareUpdateFlow.MCUmgrOptions(mode: .upload)
                try await queue.connecting().run(FirmwareUpdateFlow(image, over: .mcumgr(options)))
            }
        }
        #expect(images.all == [image.bytes])
    }

    @Test func `a device that only begins its answer, again and again, is given up`() async throws {
        let characteristic = Self.service.characteristics[0].uuid
        let device = LocalPeripheral(name: "Stammerer") { Self.service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            var reassembler = MCUmgrReassembler()
            for try await write in server.writes(to: characteristic) {
                guard write.acceptInTime() else { continue }
                for case .success(let request) in reassembler.append(write.value) {
                    guard let operation = request.operation.response else { continue }
                    let body = CBORValue.map(["rsn": .text(String(repeating: "a", count: 100))])
                    let answer = MCUmgrMessage(operation, request.command, sequence: request.sequence, body: body)
                    for _ in 0..<2000 {
                        try await server.notify(answer.encoded.prefix(20), of: characteristic, to: write.central)
                        try await bench.time.sleep(for: .seconds(5))
                    }
                }
            }
        }
        let image = try UpdateDevice.firmware(2000)
        try await Bench.run(description: device, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let options = FirmwareUpdateFlow.MCUmgrOptions(mode: .upload)
                let start = bench.time.now
                let error = await bleError {
                    try await queue.connecting().run(FirmwareUpdateFlow(image, over: .mcumgr(options)))
                }
                #expect(error?.code == .timedOut)
                // Each attempt, of which there are at most nine, has its ten seconds.
                #expect(bench.time.now - start < .seconds(600))
            }
        }
    }
}
