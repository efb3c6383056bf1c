import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// A loop over a peripheral's events may begin when centrals are there already: the task that runs it was late, or it
/// is the second loop.
@Suite(.timeLimit(.minutes(10))) struct LateLoopTests {
    @Test func `who is connected already is told first, and once`() async throws {
        let told = Recorder<String>()
        try await Bench.run { server, bench in
            try await bench.time.sleep(for: .seconds(10))
            for _ in 0..<2 {
                for try await event in server.centralEvents {
                    told.add(Self.word(event))
                    break
                }
            }
            for try await event in server.centralEvents { told.add(Self.word(event)) }
        } _: { bench in
            for _ in 0..<2 {
                try await bench.peripheral.withLink { _ in try await bench.time.sleep(for: .seconds(20)) }
            }
            try await bench.time.sleep(for: .seconds(1))
        }
        #expect(told.all == ["connected", "connected", "connected", "disconnected", "connected", "disconnected"])
    }

    @Test func `who is subscribed already is told first, and once`() async throws {
        let told = Recorder<String>()
        let all = Recorder<String>()
        try await Bench.run { server, bench in
            try await bench.time.sleep(for: .seconds(10))
            for try await change in server.subscriptions(of: Bench.notifying) {
                told.add("\(change.characteristic) \(change.kind)")
                break
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await change in server.subscriptions(of: Bench.notifying) {
                        told.add("\(change.characteristic) \(change.kind)")
                    }
                }
                group.addTask {
                    for try await change in server.subscriptions() {
                        all.add("\(change.characteristic) \(change.kind)")
                    }
                }
                try await group.waitForAll()
            }
        } _: { bench in
            for _ in 0..<2 {
                try await bench.peripheral.withLink { link in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for wanted in [Bench.indicating, Bench.notifying] {
                            group.addTask { for try await _ in link.notifications(of: wanted) {} }
                        }
                        try await bench.time.sleep(for: .seconds(20))
                        group.cancelAll()
                    }
                    try await bench.time.sleep(for: .seconds(1))
                }
            }
        }
        #expect(told.all == ["A003 notify", "A003 notify", "A003 none", "A003 notify", "A003 none"])
        let round = ["A003 notify", "A003 none", "A004 indicate", "A004 none"]
        #expect(all.all.sorted() == (round + round).sorted())
        #expect(Array(all.all.prefix(2)) == ["A003 notify", "A004 indicate"])
    }

    private static func word(_ event: PeripheralServer.CentralEvent) -> String {
        switch event {
        case .connected: "connected"
        case .disconnected: "disconnected"
        case .paired: "paired"
        case .pairingFailed: "pairing failed"
        }
    }
}
