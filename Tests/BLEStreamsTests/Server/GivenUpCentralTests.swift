import BLESimulator
import BLEStreams
import Testing

/// A central whose link the program has given up, and which is there until the radio has dropped it; and one that has
/// left by itself.
@Suite(.timeLimit(.minutes(10))) struct GivenUpCentralTests {
    /// The errors of a value, in each way in which it can be sent to a central.
    private static func refusals(_ server: PeripheralServer, _ central: ConnectedCentral) async -> [BLEError] {
        let all = [
            await bleError { try await server.notify([1], of: Bench.notifying, to: central) },
            await bleError { try server.notify([1], of: Bench.notifying, to: central, buffer: .newest(1)) },
            await bleError { try await server.notify([Bench.notifying: [1]], to: central) },
            await bleError { try await server.send([1], of: Bench.notifying, to: central) },
        ]
        return all.compactMap { $0 }
    }

    @Test func `nothing is said to be sent to it, in whatever way it is sent`() async throws {
        let refusals = Recorder<[BLEError]>()
        let counters = Recorder<PeripheralServer.NotificationCounters>()
        try await Bench.run { server, _ in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                change.central.disconnect()
                #expect(server.centrals == [change.central])
                refusals.add(await Self.refusals(server, change.central))
                counters.add(change.central.notifications)
            }
        } _: { bench in
            let end = await bleError {
                try await bench.peripheral.withLink { link in
                    for try await _ in link.notifications(of: Bench.notifying) {}
                }
            }
            #expect(end?.code == .disconnected)
        }
        #expect(refusals.all.map(\.count) == [4])
        #expect(refusals.all.flatMap({ $0 }).allSatisfy { $0.code == .disconnected })
        #expect(counters.all.map(\.offered) == [0])
    }

    @Test func `nobody is told to connect to a central, which only connects by itself`() async throws {
        let refusals = Recorder<[BLEError]>()
        try await Bench.run { server, bench in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                try await server.notify([0], of: Bench.notifying, to: change.central)
                try await bench.time.sleep(for: .seconds(10))
                refusals.add(await Self.refusals(server, change.central))
            }
        } _: { bench in
            _ = try await bench.peripheral.withLink { link in
                try await link.notifications(of: Bench.notifying).first()
            }
            try await bench.time.sleep(for: .seconds(20))
        }
        #expect(refusals.all.map(\.count) == [4])
        for error in refusals.all.flatMap({ $0 }) {
            #expect(error.code == .disconnected)
            #expect(error.remedy.contains("subscriptions(of:)") && !error.remedy.contains("retry"), "\(error.remedy)")
        }
    }
}
