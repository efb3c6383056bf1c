import BLESimulator
import BLEStreams
import Testing

/// A central whose link the program has given up, and which is there until the radio has dropped it.
@Suite(.timeLimit(.minutes(10))) struct GivenUpCentralTests {
    @Test func `nothing is said to be sent to it, in whatever way it is sent`() async throws {
        let refusals = Recorder<BLEError>()
        let counters = Recorder<PeripheralServer.NotificationCounters>()
        try await Bench.run { server, _ in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                let central = change.central
                central.disconnect()
                #expect(server.centrals == [central])
                for error in [
                    await bleError { try await server.notify([1], of: Bench.notifying, to: central) },
                    await bleError { try server.notify([1], of: Bench.notifying, to: central, buffer: .newest(1)) },
                    await bleError { try await server.notify([Bench.notifying: [1]], to: central) },
                    await bleError { try await server.send([1], of: Bench.notifying, to: central) },
                ] {
                    if let error { refusals.add(error) }
                }
                counters.add(central.notifications)
            }
        } _: { bench in
            let end = await bleError {
                try await bench.peripheral.withLink { link in
                    for try await _ in link.notifications(of: Bench.notifying) {}
                }
            }
            #expect(end?.code == .disconnected)
        }
        #expect(refusals.all.map(\.code) == Array(repeating: .disconnected, count: 4))
        #expect(counters.all.map(\.offered) == [0])
    }
}
