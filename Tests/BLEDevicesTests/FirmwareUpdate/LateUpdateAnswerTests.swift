import BLEDevices
import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// A device on MCUmgr that answers an update late what an earlier one has asked.
@Suite(.timeLimit(.minutes(10))) struct LateUpdateAnswerTests {
    private static let service = MCUmgrFirmwareReceiver().service

    /// Acts as a device that has the image, refuses to mark it, and answers its first two requests with the third one.
    private static func serve(_ server: PeripheralServer, _ image: FirmwareImage) async throws {
        let characteristic = service.characteristics[0].uuid
        var reassembler = MCUmgrReassembler()
        var waiting: [[UInt8]] = []
        var count = 0
        for try await write in server.writes(to: characteristic) {
            guard write.acceptInTime() else { continue }
            for case .success(let request) in reassembler.append(write.value) {
                guard let operation = request.operation.response else { continue }
                let images = CBORValue.array([.map(["slot": .integer(1), "hash": .bytes(image.bootHash ?? [])])])
                let body: CBORValue =
                    switch (request.operation, request.command) {
                    case (.read, .imageState): .map(["images": images])
                    case (.write, .imageState): .map(["rc": .integer(3)])
                    case (_, .reset): .map([])
                    default: .map(["rc": .integer(8)])
                    }
                waiting.append(
                    MCUmgrMessage(operation, request.command, sequence: request.sequence, body: body).encoded
                )
                count += 1
                guard count > 2 else { continue }
                for answer in waiting { try await server.notify(answer, of: characteristic, to: write.central) }
                waiting = []
                if request.command == .reset { write.central.disconnect() }
            }
        }
    }

    @Test func `the answer to what an earlier update has asked is none to the next one`() async throws {
        let image = try UpdateDevice.firmware(2000)
        let device = LocalPeripheral(name: "Late") { Self.service }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await Self.serve(server, image)
        }
        try await Bench.run(description: device, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                let options = FirmwareUpdateFlow.MCUmgrOptions(
                    mode: .confirm,
                    patience: .seconds(1),
                    retry: .constant(.seconds(1), attempts: 1)
                )
                let update = FirmwareUpdateFlow(image, over: .mcumgr(options))
                let first = await bleError { try await queue.run(update) }
                #expect(first?.code == .timedOut)
                // The late list of images would be taken for the answer to the mark, and the update for a success.
                let second = await bleError { try await queue.run(update) }
                #expect(second?.code == .updateFailed && second?.cause.contains("invalid value") == true)
            }
        }
    }
}
