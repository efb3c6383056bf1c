import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests
@testable import ble

/// How long `ble info` waits for a value.
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
