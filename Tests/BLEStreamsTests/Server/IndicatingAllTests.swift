import BLESimulator
import BLEStreams
import Testing

/// One indication for several centrals, of which one never confirms.
@Suite(.timeLimit(.minutes(10))) struct IndicatingAllTests {
    /// Connects three centrals that subscribe, in order, and runs the body; what each gets, with when, is noted.
    func withThree(
        serve: @escaping @Sendable (PeripheralServer, Bench) async throws -> Void,
        _ body: @escaping @Sendable (Bench, [SimulatedAdapter], [Recorder<Duration>]) async throws -> Void
    ) async throws {
        try await Bench.run(centrals: 3) { server, bench in
            var subscribers = 0
            for try await change in server.subscriptions(of: Bench.indicating) where change.isSubscribed {
                subscribers += 1
                if subscribers == 3 { break }
            }
            try await serve(server, bench)
        } _: { bench in
            let adapters = [bench.centralAdapter, bench.air.adapter(), bench.air.adapter()]
            let heard = adapters.map { _ in Recorder<Duration>() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (adapter, heard) in zip(adapters, heard) {
                    group.addTask {
                        let central = try await Central.open(.radio(adapter))
                        do {
                            try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                                for try await _ in link.notifications(of: Bench.indicating) {
                                    heard.add(bench.time.now)
                                }
                            }
                        } catch let error as BLEError where error.code == .disconnected {}
                    }
                    try await bench.time.sleep(for: .seconds(2))
                }
                try await body(bench, adapters, heard)
                group.cancelAll()
            }
        }
    }

    @Test(arguments: 0..<3) func `one that never confirms delays nobody, and each outcome is told`(dead: Int)
        async throws
    {
        let (outcomes, times) = (Recorder<[PeripheralServer.IndicationOutcome]>(), Recorder<Duration>())
        try await withThree { server, bench in
            try await bench.time.sleep(for: .seconds(10))
            times.add(bench.time.now)
            outcomes.add(try await server.indicate([1], of: Bench.indicating))
            times.add(bench.time.now)
            // Who is left gets the next one, and is quick.
            outcomes.add(try await server.indicate([2], of: Bench.indicating))
            times.add(bench.time.now)
            for try await _ in server.centralEvents {}
        } _: { bench, adapters, heard in
            bench.air.faults.add(.swallow(.confirmations), on: adapters[dead])
            try await bench.time.sleep(for: .seconds(60))
            try #require(times.all.count == 3 && outcomes.all.count == 2)
            let begun = times.all[0]
            for recorder in heard { #expect(try #require(recorder.all.first) - begun < .seconds(1)) }
            #expect(heard.map(\.all.count) == (0..<3).map { $0 == dead ? 1 : 2 })

            let first = outcomes.all[0]
            try #require(first.count == 3)
            #expect(first.map(\.central.address) == adapters.map(\.address))
            #expect(first.map(\.isConfirmed) == (0..<3).map { $0 != dead })
            let error = first[dead].error
            #expect(error?.code == .disconnected && error?.reason?.kind == .transactionTimeout)
            #expect((Duration.seconds(30)...(.seconds(31))).contains(times.all[1] - times.all[0]))

            #expect(outcomes.all[1].map(\.isConfirmed) == [true, true])
            #expect(times.all[2] - times.all[1] < .seconds(1))
        }
    }

    @Test func `who leaves meanwhile is told of`() async throws {
        let outcomes = Recorder<[PeripheralServer.IndicationOutcome]>()
        try await withThree { server, bench in
            try await bench.time.sleep(for: .seconds(10))
            outcomes.add(try await server.indicate([1], of: Bench.indicating))
            for try await _ in server.centralEvents {}
        } _: { bench, adapters, _ in
            bench.air.faults.add(.dropLink(insteadOf: .indications), on: adapters[0])
            bench.air.faults.add(.dropLink(insteadOf: .confirmations), on: adapters[1])
            try await bench.time.sleep(for: .seconds(20))
            let outcome = try #require(outcomes.all.first)
            #expect(outcome.map(\.isConfirmed) == [false, false, true])
            #expect(outcome.map { $0.error?.reason?.kind } == [.supervisionTimeout, .supervisionTimeout, nil])
        }
    }

    @Test func `whoever is cancelled waits for nobody`() async throws {
        let waited = Recorder<Duration>()
        try await withThree { server, bench in
            try await bench.time.sleep(for: .seconds(10))
            let before = bench.time.now
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        try await server.indicate([1], of: Bench.indicating)
                    }
                }
                try? await bench.time.sleep(for: .seconds(3))
                group.cancelAll()
            }
            waited.add(bench.time.now - before)
            for try await _ in server.centralEvents {}
        } _: { bench, adapters, heard in
            bench.air.faults.add(.swallow(.confirmations), on: adapters[0])
            try await bench.time.sleep(for: .seconds(60))
            #expect(waited.all == [.seconds(3)])
            // What was sent was sent.
            #expect(heard.map(\.all.count) == [1, 1, 1])
        }
    }

    @Test func `without subscribers there is no outcome, and without the characteristic an error`() async throws {
        let done = Recorder<Bool>()
        try await Bench.run { server, _ in
            let outcomes = try await server.indicate([1], of: Bench.indicating)
            let error = await bleError { try await server.indicate([1], of: BluetoothUUID(0xFFF1)) }
            done.add(outcomes.isEmpty && error?.code == .notFound)
        } _: { bench in
            try await bench.time.sleep(for: .seconds(1))
            #expect(done.all == [true])
        }
    }
}
