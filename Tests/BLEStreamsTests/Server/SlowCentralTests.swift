import BLESimulator
import BLEStreams
import Testing

/// Centrals that take notifications at their own pace: nobody waits for another one, and every value is accounted for.
@Suite(.timeLimit(.minutes(10))) struct SlowCentralTests {
    private static let count = 300
    private static let buffer = 2000
    /// A radio that takes 243 values ahead, and tells of room when it has taken half of them off.
    private static let large = 56_000
    /// One PDU a second.
    private static let lazy = AdapterSettings(
        linkTiming: LinkTiming(connectionInterval: .seconds(1), packetsPerEvent: 1, supervisionTimeout: .seconds(30))
    )

    /// Two centrals have subscribed, the quick one first: one takes a PDU a second, the other all that there are.
    ///
    /// - Parameters:
    ///   - buffer: the octets that the peripheral's radio takes ahead; no more than a few PDUs, unless said otherwise.
    ///   - slowAdapter: gets the adapter of the slow one.
    private func meet(
        buffer: Int = Self.buffer,
        slowAdapter: Recorder<SimulatedAdapter>? = nil,
        _ serve:
            @escaping @Sendable (
                PeripheralServer, Bench, _ quick: ConnectedCentral, _ slow: ConnectedCentral
            ) async throws -> Void
    ) async throws -> (quick: [UInt32], slow: [UInt32]) {
        let heard = (quick: Recorder<UInt32>(), slow: Recorder<UInt32>())
        let isDone = Flag()
        try await Bench.run(centrals: 2, settings: AdapterSettings(sendBufferSize: buffer)) { server, bench in
            var subscribers: [ConnectedCentral] = []
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                subscribers.append(change.central)
                if subscribers.count == 2 { break }
            }
            let isFirstQuick = subscribers[0].address == bench.centralAdapter.address
            try await serve(server, bench, subscribers[isFirstQuick ? 0 : 1], subscribers[isFirstQuick ? 1 : 0])
            isDone.set()
            for try await _ in server.centralEvents {}
        } _: { bench in
            let lazy = bench.air.adapter(settings: Self.lazy)
            slowAdapter?.add(lazy)
            let slow = try await Central.open(.radio(lazy)).peripheral(bench.peripheralAdapter.address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (peripheral, recorder) in [(bench.peripheral, heard.quick), (slow, heard.slow)] {
                    group.addTask {
                        try await peripheral.withLink { link in
                            for try await value in link.notifications(of: Bench.notifying) {
                                recorder.add(UInt32(octets: value.bytes))
                            }
                        }
                    }
                }
                while !isDone.isSet { try await bench.time.sleep(for: .seconds(1)) }
                try await bench.time.sleep(for: .seconds(60))
                group.cancelAll()
            }
        }
        return (heard.quick.all, heard.slow.all)
    }

    private func expectAccounted(_ counters: PeripheralServer.NotificationCounters, offered: Int) {
        #expect(counters.offered == offered)
        #expect(counters.sent + counters.dropped + counters.waiting == counters.offered)
    }

    @Test func `the newest values reach a slow one, all of them the quick one`() async throws {
        let told = Recorder<(BluetoothAddress, Bool)>()
        let left = Recorder<PeripheralServer.NotificationCounters>()
        let heard = try await meet { server, bench, quick, slow in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await backlog in server.backlogs { told.add((backlog.central.address, backlog.isBehind)) }
                }
                for number in 0..<UInt32(Self.count) {
                    let outcomes = try server.notify(number.octets, of: Bench.notifying, buffer: .newest(4))
                    #expect(outcomes.allSatisfy { $0.isSent } && outcomes.count == 2)
                    try await bench.time.sleep(for: .milliseconds(100))
                }
                try await bench.time.sleep(for: .seconds(30))
                for (central, isSlow) in [(quick, false), (slow, true)] {
                    let counters = central.notifications
                    expectAccounted(counters, offered: Self.count)
                    #expect(counters.waiting == 0 && (counters.dropped > 0) == isSlow)
                    left.add(counters)
                }
                group.cancelAll()
            }
            #expect(told.all.allSatisfy { $0.0 == slow.address })
        }
        #expect(heard.quick == Array(0..<UInt32(Self.count)))
        #expect(heard.slow == heard.slow.sorted() && heard.slow.last == UInt32(Self.count - 1))
        #expect(heard.slow.count == left.all[1].sent && heard.slow.count < Self.count / 2)
        // Behind and caught up by turns, and in the end it has everything.
        #expect(told.all.enumerated().allSatisfy { $0.element.1 == $0.offset.isMultiple(of: 2) })
        #expect(told.all.last?.1 == false)
    }

    @Test func `the oldest values reach a slow one, and the outcome says what does not`() async throws {
        let dropped = Recorder<Int>()
        let heard = try await meet { server, bench, _, slow in
            for number in 0..<UInt32(100) {
                let outcomes = try server.notify(number.octets, of: Bench.notifying, buffer: .oldest(3))
                let outcome = try #require(outcomes.first { $0.central == slow })
                #expect(outcome.droppedCount == (outcome.isSent ? 0 : 1))
                if let error = outcome.error {
                    #expect(error.code == .overflow)
                    dropped.add(Int(number))
                }
                try await bench.time.sleep(for: .milliseconds(100))
            }
            let counters = slow.notifications
            expectAccounted(counters, offered: 100)
            #expect(counters.dropped == dropped.all.count && counters.dropped > 0)
            let error = await bleError {
                for _ in 0..<10 { try server.notify([0], of: Bench.notifying, to: slow, buffer: .fail(3)) }
            }
            #expect(error?.code == .overflow && error?.cause.hasPrefix("3 of its values") == true)
        }
        let kept = (0..<100).filter { !dropped.all.contains($0) }.map { UInt32($0) }
        #expect(Array(heard.slow.prefix(kept.count)) == kept)
        #expect(heard.quick.prefix(100).elementsEqual(0..<100))
    }

    @Test func `a slow one that is waited for is behind too, and has everything in the end`() async throws {
        let told = Recorder<Bool>()
        let heard = try await meet { server, bench, _, slow in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for try await backlog in server.backlogs { told.add(backlog.isBehind) } }
                for number in 0..<UInt32(150) { try await server.notify(number.octets, of: Bench.notifying, to: slow) }
                #expect(told.all == [true])
                while slow.notifications.waiting > 0 { try await bench.time.sleep(for: .seconds(1)) }
                expectAccounted(slow.notifications, offered: 150)
                #expect(slow.notifications.sent == 150)
                group.cancelAll()
            }
        }
        #expect(told.all == [true, false])
        #expect(heard.slow.elementsEqual(0..<150))
    }

    @Test func `a slow one gets all that is sent to all, as long as it takes anything`() async throws {
        let heard = try await meet { server, bench, _, slow in
            for number in 0..<UInt32(120) {
                let outcomes = try await server.notify(number.octets, of: Bench.notifying)
                #expect(outcomes.allSatisfy { $0.isSent } && outcomes.count == 2)
            }
            while slow.notifications.waiting > 0 { try await bench.time.sleep(for: .seconds(1)) }
            expectAccounted(slow.notifications, offered: 120)
        }
        #expect(heard.quick.elementsEqual(0..<120) && heard.slow.elementsEqual(0..<120))
    }

    @Test func `a slow one gets all of it also from a radio that tells of room only when much of it is free`()
        async throws
    {
        let heard = try await meet(buffer: Self.large) { server, bench, _, slow in
            for number in 0..<UInt32(400) {
                let outcomes = try await server.notify(number.octets, of: Bench.notifying)
                #expect(outcomes.allSatisfy { $0.isSent } && outcomes.count == 2)
            }
            // It has 307 of them to go.
            try await bench.time.sleep(for: .seconds(400))
            expectAccounted(slow.notifications, offered: 400)
            #expect(slow.notifications.sent == 400)
        }
        #expect(heard.quick.elementsEqual(0..<400) && heard.slow.elementsEqual(0..<400))
    }

    @Test func `a slow one that was away gets what is sent to all again soon after it takes something`() async throws {
        let (failed, adapters) = (Recorder<UInt32>(), Recorder<SimulatedAdapter>())
        let heard = try await meet(buffer: Self.large, slowAdapter: adapters) { server, bench, _, slow in
            for number in 0..<UInt32(400) {
                // Its queues are nearly full by then.
                if number == 300, let adapter = adapters.all.first {
                    bench.air.faults.add(.outOfRange(lasting: .seconds(26)), on: adapter)
                }
                let outcomes = try await server.notify(number.octets, of: Bench.notifying)
                if outcomes.contains(where: { $0.error?.code == .overflow }) {
                    failed.add(number)
                    try await bench.time.sleep(for: .seconds(1))
                }
            }
            try await bench.time.sleep(for: .seconds(400))
            expectAccounted(slow.notifications, offered: 400)
            #expect(slow.notifications.dropped == failed.all.count)
        }
        // Each second from the tenth on, until it was back.
        #expect((5..<25).contains(failed.all.count))
        #expect(heard.quick.elementsEqual(0..<400))
        #expect(heard.slow == (0..<UInt32(400)).filter { !failed.all.contains($0) })
    }

    @Test func `when the services are replaced what waits of them is dropped, and counted`() async throws {
        _ = try await meet { server, _, _, slow in
            for number in 0..<UInt32(50) { try server.notify(number.octets, of: Bench.notifying, buffer: .unbounded) }
            #expect(slow.notifications.waiting > 10)
            try server.replaceServices([])
            let counters = slow.notifications
            expectAccounted(counters, offered: 50)
            // What the link was being given goes out yet.
            #expect(counters.waiting <= 1 && counters.dropped > 10)
            let error = await bleError { try server.notify([1], of: Bench.notifying, buffer: .unbounded) }
            #expect(error?.code == .notFound)
        }
    }

    @Test func `when the server ends nothing waits, the stream of who is behind ends, and all is counted`() async throws
    {
        let left = Recorder<ConnectedCentral>()
        let told = Recorder<Bool>()
        let streams = Recorder<BLEStream<PeripheralServer.CentralBacklog>>()
        let isOver = Flag()
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let radio = air.adapter(settings: AdapterSettings(sendBufferSize: Self.buffer))
            let lazy = air.adapter(settings: Self.lazy)
            let slow = try await Central.open(.radio(lazy)).peripheral(radio.address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    _ = await bleError {
                        try await slow.withLink { link in for try await _ in link.notifications(of: Bench.notifying) {}
                        }
                    }
                }
                group.addTask {
                    while streams.all.isEmpty { try await time.sleep(for: .milliseconds(1)) }
                    for try await backlog in streams.all[0] { told.add(backlog.isBehind) }
                    isOver.set()
                }
                try await Bench.description.run(on: radio) { server in
                    for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                        left.add(change.central)
                        for _ in 0..<20 { try server.notify([1], of: Bench.notifying, buffer: .newest(5)) }
                        streams.add(server.backlogs)
                        while told.all.isEmpty { try await time.sleep(for: .milliseconds(1)) }
                        break
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(told.all.first == true && isOver.isSet)
        expectAccounted(left.all[0].notifications, offered: 20)
        #expect(left.all[0].notifications.waiting == 0)
    }
}
