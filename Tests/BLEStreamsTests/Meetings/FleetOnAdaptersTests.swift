import BLESimulator
import BLEStreams
import Testing

/// A fleet on joined adapters, each of which is unplugged once, with a command in the queue of each member.
@Suite(.timeLimit(.minutes(10))) struct FleetOnAdaptersTests {
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `each member goes on through the adapter that is left, with its stream and its command`(seed: UInt64)
        async throws
    {
        try await JoinedSite.run(sensors: 4, seed: seed) { site in
            for sensor in 2..<4 { site.move(sensor, near: .dBm(-80), far: .dBm(-50)) }
            let numbers = site.sensors.map { _ in Recorder<UInt8>() }
            let gaps = site.sensors.map { _ in Recorder<StreamGap>() }
            try await site.central.withFleet { fleet in
                let sessions = site.sensors.map { sensor in
                    fleet.add(Session.Plan(sensor.address).subscribing(to: JoinedSite.number))
                }
                for session in sessions { try await session.ready() }
                #expect(site.loads == [2, 2])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (index, session) in sessions.enumerated() {
                        group.addTask {
                            for try await item in session.notifications(of: JoinedSite.number).withGaps() {
                                switch item {
                                case .value(let value):
                                    #expect(value.bytes.first == UInt8(index))
                                    numbers[index].add(value[1])
                                case .gap(let gap): gaps[index].add(gap)
                                }
                            }
                        }
                    }
                    for adapter in site.adapters {
                        let flows = sessions.enumerated().map { index, session in
                            session.queue.retrying(.constant(.milliseconds(200), attempts: 50)).enqueue(
                                CommandBlock<Void>("long") { context in
                                    for _ in 0..<8 {
                                        let value = try await context.read(JoinedSite.fixed)
                                        #expect(value.bytes == [UInt8(index)])
                                        try await site.time.sleep(for: .milliseconds(500))
                                    }
                                }
                            )
                        }
                        try await site.time.sleep(for: .seconds(2))
                        adapter.unplug()
                        for flow in flows { try await flow.value }
                        for session in sessions { try await session.ready(timeout: .seconds(60)) }
                        #expect(site.loads == (adapter === site.adapters[0] ? [0, 4] : [4, 0]))
                        adapter.plugIn()
                        try await site.time.sleep(for: .seconds(3))
                    }
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
                #expect(fleet.sessions.count == 4)
            }
            // Two lose both of their links, the others have only one to lose.
            #expect(gaps.map(\.all.count) == [2, 2, 1, 1])
            for (numbers, gaps) in zip(numbers, gaps) {
                let steps = zip(numbers.all, numbers.all.dropFirst()).map { $1 &- $0 }
                #expect(steps.count > 20 && steps.filter { $0 != 1 }.count <= gaps.all.count, "\(steps)")
            }
            try await site.time.sleep(for: .seconds(5))
            #expect(site.central.leftovers.isEmpty, "\(site.central.leftovers)")
        }
    }
}
