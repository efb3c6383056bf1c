import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// What an adapter can be, and programs that begin before it is there.
@Suite(.timeLimit(.minutes(10))) struct AdapterStateTests {
    private static let unusable = AdapterInfo.State.allCases.filter { $0 != .poweredOn }

    @Test func `each state of an adapter has words, and each but on an error with a remedy`() {
        #expect(Set(AdapterInfo.State.allCases.map(\.words)).count == AdapterInfo.State.allCases.count)
        #expect(AdapterInfo.State.poweredOn.error(operation: "scan") == nil)
        for state in Self.unusable {
            let error = state.error(operation: "scan", object: "hci0")
            #expect(error?.operation == "scan" && error?.object == "hci0" && error?.remedy.isEmpty == false)
            #expect(error?.isFinal == state.isFinal, "\(state)")
        }
    }

    @Test(arguments: unusable)
    func `an adapter in each state says so, and everything on it fails accordingly`(_ state: AdapterInfo.State)
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let code = state.error(operation: "scan")?.code
            var states = bench.central.adapterStates.makeAsyncIterator()
            #expect(try await states.next() == .poweredOn)
            bench.centralAdapter.setState(state)
            #expect(try await states.next() == state && bench.central.adapter.state == state)
            let scanning = await bleError { _ = try await bench.central.scan().first() }
            #expect(scanning?.code == code && scanning?.remedy.isEmpty == false)
            let connecting = await bleError { try await bench.peripheral.withLink { _ in } }
            #expect(connecting?.code == code)
            bench.centralAdapter.powerOn()
            try await bench.peripheral.withLink { _ in }
        }
    }

    @Test func `opening waits until the adapter is on`() async throws {
        try await VirtualTime.run { time in
            let adapter = SimulatedAir(time).adapter()
            adapter.setState(.unknown)
            let changes = [
                (10, AdapterInfo.State.absent), (20, .resetting), (30, .poweredOff), (40, .blocked), (50, .poweredOn),
            ]
            let timers = changes.map { second, state in
                time.schedule(after: .seconds(second)) { adapter.setState(state) }
            }
            let central = try await Central.open(.radio(adapter), waitingFor: .seconds(60))
            #expect(time.now == .seconds(50) && central.adapter.state == .poweredOn)
            // Where it is on already there is nothing to wait for.
            _ = try await Central.open(.radio(adapter), waitingFor: .zero)
            #expect(time.now == .seconds(50))
            _ = timers
        }
    }

    @Test func `opening that waits for ever waits a day`() async throws {
        try await VirtualTime.run(limit: .seconds(200_000)) { time in
            let adapter = SimulatedAir(time).adapter()
            adapter.unplug()
            let timer = time.schedule(after: .seconds(86_400)) { adapter.plugIn() }
            _ = try await Central.open(.radio(adapter), waitingFor: nil)
            #expect(time.now == .seconds(86_400))
            timer.cancel()
        }
    }

    @Test(arguments: unusable)
    func `opening that has waited in vain says what the adapter is`(_ state: AdapterInfo.State) async throws {
        try await VirtualTime.run { time in
            let adapter = SimulatedAir(time).adapter()
            adapter.setState(state)
            let error = await bleError { _ = try await Central.open(.radio(adapter), waitingFor: .seconds(60)) }
            #expect(error?.code == state.error(operation: "open")?.code && error?.operation == "open")
            // Where waiting is of no use it says so at once.
            #expect(time.now == (state.isFinal ? .zero : .seconds(60)))
            #expect(error?.elapsed == (state.isFinal ? nil : .seconds(60)))
        }
    }

    @Test func `cancellation ends the waiting`() async throws {
        try await VirtualTime.run { time in
            let adapter = SimulatedAir(time).adapter()
            adapter.powerOff()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        _ = try await Central.open(.radio(adapter), waitingFor: nil)
                    }
                }
                try await time.sleep(for: .seconds(5))
                group.cancelAll()
                try await group.waitForAll()
            }
            #expect(time.now == .seconds(5) && adapter.activity.isIdle)
        }
    }
}
