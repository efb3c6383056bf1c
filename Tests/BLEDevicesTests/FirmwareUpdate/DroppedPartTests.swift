import BLESimulator
import BLEStreams
import Testing

@testable import BLEDevices
@testable import BLEStreamsTests

/// Parts of answers that the kernel has no room for.
@Suite(.timeLimit(.minutes(10))) struct DroppedPartTests {
    private static let service = MCUmgrFirmwareReceiver().service
    private static let characteristic = service.characteristics[0].uuid
    private static let hash = (0..<44).map { UInt8($0 * 5) }

    /// Asks for the hash.
    private struct Asking: Command {
        func run(in context: CommandContext) async throws -> [UInt8]? {
            let exchange = try await MCUmgrExchange(
                in: context,
                patience: .seconds(10),
                retry: .constant(.seconds(1), attempts: 3)
            )
            return try await exchange.request(.read, .imageState)["hash"]?.bytes
        }
    }

    /// Answers with three notifications, and one that is the end of another answer, as if its beginning were missing.
    private static func serve(_ server: PeripheralServer) async throws {
        var reassembler = MCUmgrReassembler()
        for try await write in server.writes(to: characteristic) {
            guard write.acceptInTime() else { continue }
            for case .success(let request) in reassembler.append(write.value) {
                let body = CBORValue.map(["hash": .bytes(hash)])
                let answer = MCUmgrMessage(.readResponse, request.command, sequence: request.sequence, body: body)
                let octets = answer.encoded + [UInt8](repeating: 0xFF, count: 20)
                for start in stride(from: 0, to: octets.count, by: 20) {
                    let part = Array(octets[start..<min(start + 20, octets.count)])
                    try await server.notify(part, of: characteristic, to: write.central)
                }
            }
        }
    }

    @Test(arguments: [1, 2]) func `an answer that lacks a part is not filled up with one of another answer`(
        place: Int
    ) async throws {
        let device = LocalPeripheral(name: "Wordy") { Self.service }
        let narrow = AdapterSettings(maximumPDUSize: 23)
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await Self.serve(server)
        }
        try await Bench.run(description: device, settings: narrow, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                bench.air.faults.add(.overflow(.notifications).skipping(place).times(1))
                let hash = try await queue.connecting().run(Asking())
                #expect(hash == Self.hash)
            }
        }
    }
}
