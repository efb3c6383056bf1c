import BLEDevices
import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// Devices that call the image damaged that they have got, list it as if it were right, and keep it.
@Suite(.timeLimit(.minutes(10))) struct DamagedImageTests {
    private static let service = MCUmgrFirmwareReceiver().service

    /// Acts as such a device, which never answers the command that erases a slot; notes the slots that it is to erase.
    ///
    /// - Parameter mark: what the device says of the image beside its hash.
    private static func serve(
        _ server: PeripheralServer,
        _ image: FirmwareImage,
        marked mark: String,
        _ erasures: Recorder<Int>
    ) async throws {
        let characteristic = service.characteristics[0].uuid
        var reassembler = MCUmgrReassembler()
        var count = 0
        for try await write in server.writes(to: characteristic) {
            guard write.acceptInTime() else { continue }
            for case .success(let request) in reassembler.append(write.value) {
                guard let operation = request.operation.response else { continue }
                if request.command == .imageErase {
                    erasures.add(request.body["slot"]?.integer ?? -1)
                    continue
                }
                if request.command == .imageUpload, request.body["off"]?.integer == count {
                    count += request.body["data"]?.bytes?.count ?? 0
                }
                let members: [CBORValue.Member] = [
                    .init(.text("slot"), .integer(1)), .init(.text("hash"), .bytes(image.bootHash ?? [])),
                    .init(.text(mark), .bool(true)),
                ]
                let isComplete = count == image.bytes.count
                let listed: [CBORValue] = isComplete ? [.map(members)] : []
                let body: CBORValue =
                    switch request.command {
                    case .imageState: .map(["images": .array(listed)])
                    case .imageUpload where isComplete: .map(["off": .integer(count), "match": .bool(false)])
                    case .imageUpload: .map(["off": .integer(count)])
                    default: .map(["rc": .integer(8)])
                    }
                let answer = MCUmgrMessage(operation, request.command, sequence: request.sequence, body: body)
                try await server.notify(answer.encoded, of: characteristic, to: write.central)
            }
        }
    }

    /// The error of an update of such a device, and the slots that it was to erase.
    private func update(marked mark: String) async throws -> (error: BLEError?, erasures: [Int]) {
        let image = try UpdateDevice.firmware(3000)
        let (errors, erasures) = (Recorder<BLEError?>(), Recorder<Int>())
        let device = LocalPeripheral(name: "Keeper") { Self.service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await Self.serve(server, image, marked: mark, erasures)
        }
        try await Bench.run(description: device, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let options = FirmwareUpdateFlow.MCUmgrOptions(
                    mode: .upload,
                    erasePatience: .seconds(20),
                    retry: .constant(.seconds(1), attempts: 1)
                )
                let flow = FirmwareUpdateFlow(image, over: .mcumgr(options))
                errors.add(await bleError { try await queue.connecting().run(flow) })
            }
        }
        return (errors.all.first ?? nil, erasures.all)
    }

    @Test(arguments: ["pending", "confirmed"]) func `one that is marked to run is not erased`(mark: String) async throws
    {
        let (error, erasures) = try await update(marked: mark)
        #expect(error?.code == .updateFailed && error?.cause == "the image that arrived has another hash")
        #expect(error?.remedy.hasPrefix("Reset the device, then try again") == true, "\(error?.remedy ?? "")")
        #expect(erasures == [])
    }

    @Test func `where the device doesn't answer that it has erased it, the error says what to do`() async throws {
        let (error, erasures) = try await update(marked: "bootable")
        #expect(error?.code == .updateFailed && error?.cause == "the image that arrived has another hash")
        #expect(error?.remedy.hasPrefix("Send another image") == true, "\(error?.remedy ?? "")")
        #expect(error?.remedy.contains("(the device has not begun or continued its answer within") == true)
        #expect(erasures == [1, 1])
    }
}
