import BLESimulator
import BLEStreams
import Testing

/// A session on joined adapters, one of which goes while a command has the link for itself.
@Suite(.timeLimit(.minutes(10))) struct AdapterLostInCommandTests {
    @Test(arguments: [false, true], 1...8 as ClosedRange<UInt64>)
    func `the command goes on through the other adapter, and so do the streams`(
        isUnplugged: Bool,
        seed: UInt64
    ) async throws {
        try await JoinedSite.run(seed: seed) { site in
            let plan = Session.Plan(site.peripherals[0]).subscribing(to: JoinedSite.number)
            let (adapters, gaps) = (Recorder<[Int]>(), Recorder<StreamGap>())
            try await site.central.withSession(plan) { session in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await item in session.notifications(of: JoinedSite.number).withGaps() {
                            if case .gap(let gap) = item { gaps.add(gap) }
                        }
                    }
                    try await session.ready()
                    group.addTask {
                        try await site.time.sleep(for: .seconds(2))
                        if isUnplugged { site.adapters[0].unplug() } else { site.adapters[0].powerOff() }
                    }
                    let long = CommandBlock.block("long") { link in
                        adapters.add(site.loads)
                        for _ in 0..<8 {
                            let value = try await link.read(JoinedSite.fixed)
                            #expect(value.bytes == [0])
                            try await site.time.sleep(for: .milliseconds(500))
                        }
                    }
                    // Beside it, a reading of the session waits its turn, through the loss.
                    async let read = session.read(JoinedSite.fixed, timeout: .seconds(60))
                    try await session.queue.run(long.retry(.constant(.milliseconds(100), attempts: 5)))
                    let value = try await read
                    #expect(value.bytes == [0] && adapters.all == [[1, 0], [0, 1]])
                    _ = try await session.notifications(of: JoinedSite.number).collect(4)
                    #expect(gaps.all.count == 1)
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
            }
        }
    }
}
