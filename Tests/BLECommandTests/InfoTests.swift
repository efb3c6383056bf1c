import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests
@testable import ble

/// What `ble info` tells of values, and how long it waits for them.
@Suite(.timeLimit(.minutes(10))) struct InfoTests {
    /// Answers each read after five seconds.
    private static let answerLate: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        for try await request in server.reads() {
            try await bench.time.sleep(for: .seconds(5))
            try request.respond([7])
        }
    }

    @Test func `a value that takes long is read if the limit leaves time for it`() async throws {
        try await Bench.run(serve: Self.answerLate) { bench in
            try await bench.peripheral.withLink { link in
                var tree = GATTTree(link: link, database: try await link.discover())
                // The limit runs in real time.
                try await tree.readValues(on: link, Deadline(in: .seconds(3600)))
                let handle = try #require(tree.database.characteristic(Bench.dynamic)?.valueHandle)
                guard case .octets(let octets)? = tree.values[handle] else {
                    Issue.record("\(tree.text)")
                    return
                }
                #expect(octets == [7])
            }
        }
    }

    /// As a sensor that has measured nothing yet.
    @Test func `a float that is no number is none for a program`() async throws {
        let device = LocalPeripheral(name: "Float") {
            LocalService(BluetoothUUID(0xB000)) {
                LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([0, 0, 0xC0, 0x7F])) {
                    LocalDescriptor.presentationFormat(0x14, unit: 0x272F)
                }
            }
        }
        try await Bench.run(description: device) { bench in
            try await bench.peripheral.withLink { link in
                var tree = GATTTree(link: link, database: try await link.discover())
                try await tree.readValues(on: link)
                let json = "\(tree.json)"
                #expect(json.contains("0000c07f") && !json.contains("\"number\""), "\(json)")
            }
        }
    }

    @Test func `without a limit it isn't waited for`() async throws {
        try await Bench.run(serve: Self.answerLate) { bench in
            let error = await #expect(throws: BLEError.self) {
                try await bench.peripheral.withLink { link in
                    var tree = GATTTree(link: link, database: try await link.discover())
                    try await tree.readValues(on: link)
                }
            }
            #expect(error?.code == .timedOut && error?.elapsed == .seconds(3))
        }
    }
}
