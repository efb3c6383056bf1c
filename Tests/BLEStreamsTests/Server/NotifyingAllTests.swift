import BLESimulator
import BLEStreams
import Testing

/// One value for several centrals, of which one is slow.
@Suite(.timeLimit(.minutes(10))) struct NotifyingAllTests {
    @Test func `a central that takes nothing any more doesn't keep a value from the others`() async throws {
        try await Bench.run(centrals: 2) { server, _ in
            var subscribers = 0
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                subscribers += 1
                if subscribers == 2 { break }
            }
            // More than the queues of the one who is out of range hold.
            for number in 0..<UInt32(600) {
                try await server.notify(number.octets, of: Bench.notifying)
            }
            // What is queued is still on its way.
            for try await _ in server.centralEvents {}
        } _: { bench in
            let other = bench.air.adapter()
            let stuck = try await Central.open(.radio(other))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // Its link is lost in the end, and nobody waits for it any longer.
                    _ = await bleError {
                        try await stuck.peripheral(bench.peripheralAdapter.address).withLink { link in
                            for try await _ in link.notifications(of: Bench.notifying) {}
                        }
                    }
                }
                let numbers = try await bench.peripheral.withLink { link in
                    let stream = link.notifications(of: Bench.notifying).map { UInt32(octets: $0) }
                    return try await stream.onEach { number in
                        if number == 20 { bench.air.faults.add(.outOfRange(), on: other) }
                    }.collect(600)
                }
                #expect(numbers == Array(0..<600))
                try await group.waitForAll()
            }
        }
    }
}
