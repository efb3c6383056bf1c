import BLESimulator
import BLEStreams
import Testing

@testable import BLEDevices
@testable import BLEStreamsTests

/// Parts of answers that the kernel has no room for, or for which there is no subscription.
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

    /// An answer in three notifications, and one that is the end of another answer, as if its beginning were missing.
    private static func parts(answering request: MCUmgrMessage) -> [[UInt8]] {
        let body = CBORValue.map(["hash": .bytes(hash)])
        let answer = MCUmgrMessage(.readResponse, request.command, sequence: request.sequence, body: body)
        let octets = answer.encoded + [UInt8](repeating: 0xFF, count: 20)
        return stride(from: 0, to: octets.count, by: 20).map { Array(octets[$0..<min($0 + 20, octets.count)]) }
    }

    /// Sends the parts of answers.
    ///
    /// - Parameter insteadOfSecond: called once in place of sending the second part of the first answer; `nil`: all
    ///   parts are sent.
    private static func serve(
        _ server: PeripheralServer,
        insteadOfSecond: (() async throws -> Void)? = nil
    ) async throws {
        var reassembler = MCUmgrReassembler()
        var insteadOfSecond = insteadOfSecond
        for try await write in server.writes(to: characteristic) {
            guard write.acceptInTime() else { continue }
            for case .success(let request) in reassembler.append(write.value) {
                for (number, part) in parts(answering: request).enumerated() {
                    if number == 1, let act = insteadOfSecond.take() {
                        try await act()
                    } else {
                        try await server.notify(part, of: characteristic, to: write.central)
                    }
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

    /// The service with its characteristic at another handle.
    private static let moved = LocalService(service.uuid) {
        LocalCharacteristic(Bench.readOnly, [.read], value: .stored([7]))
        service.characteristics[0]
    }

    @Test func `an answer that a change of services cuts off is not filled up with what comes later`() async throws {
        let device = LocalPeripheral(name: "Moving") { Self.service }
        let narrow = AdapterSettings(maximumPDUSize: 23)
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await Self.serve(server) {
                try server.replaceServices([Self.moved])
                // Until the central has subscribed again.
                try await bench.time.sleep(for: .seconds(5))
            }
        }
        try await Bench.run(description: device, settings: narrow, serve: serve) { bench in
            try await bench.peripheral.withQueue { queue in
                let hash = try await queue.connecting().run(Asking())
                #expect(hash == Self.hash)
            }
        }
    }
}
