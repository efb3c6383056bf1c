import BLESimulator
import BLEStreams
import Testing

/// The rest of a message that is given up, which never comes where the characteristic has moved meanwhile.
extension SuccessiveMessagesTests {
    /// The characteristic of the bench at another handle.
    private static let moved = [
        LocalService(BluetoothUUID(0xA000)) {
            LocalCharacteristic(Bench.readOnly, [.read], value: .stored([7]))
            LocalCharacteristic(Bench.notifying, [.read, .notify], value: .stored([0]))
        }
    ]

    /// The stream gives up 6 s behind the subscription, and is back at 26 s.
    @Test(arguments: [true, false], [3, 20])
    func `behind a change of services, a new message is not taken for the rest of one that was given up`(
        isAlone: Bool,
        seconds: Int
    ) async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            var isMoved = false
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                try await bench.time.sleep(for: .seconds(isMoved ? 27 - seconds : 1))
                let chunk = isMoved ? "two\n" : "one\nhal"
                try await server.notify(Array(chunk.utf8), of: Bench.notifying, to: change.central)
                if isMoved { continue }
                try await bench.time.sleep(for: .seconds(seconds))
                isMoved = true
                try server.replaceServices(Self.moved)
            }
        }
        try await Bench.run(serve: serve) { bench in
            try await bench.central.withSession(Self.plan) { session in
                try await session.ready()
                try await withThrowingTaskGroup(of: [String].self) { group in
                    if !isAlone { group.addTask { try await Self.lines(session).collect(2) } }
                    let lines = Self.lines(session).timeout(.seconds(5)).retry(.constant(.seconds(20), attempts: 1))
                    let taken = try await lines.collect(2)
                    #expect(taken == ["one", "two"])
                    while let others = try await group.next() { #expect(others == ["one", "two"]) }
                }
            }
        }
    }
}
