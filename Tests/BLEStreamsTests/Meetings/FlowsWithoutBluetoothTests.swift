import BLESimulator
import BLEStreams
import Testing

/// Flows of a session that take one another's place while its adapter is off.
@Suite(.timeLimit(.minutes(10))) struct FlowsWithoutBluetoothTests {
    private struct Reading: Command {
        let name: String
        let log: Recorder<String>

        func run(in context: CommandContext) async throws {
            log.add("begin \(name)")
            let value = try await context.read(Bench.readable)
            #expect(value.bytes == [1, 2, 3])
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `of three only the last one runs, once, when the adapter is back`(seed: UInt64) async throws {
        let log = Recorder<String>()
        try await Bench.run(seed: seed) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                bench.centralAdapter.powerOff()
                // Its link is down by then.
                try await bench.time.sleep(for: .seconds(1))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<3 {
                        group.addTask {
                            do {
                                let flow = Reading(name: "\(number)", log: log)
                                try await session.queue.run(flow, replacing: .activeFlow)
                                log.add("end \(number)")
                            } catch let error as BLEError {
                                log.add("\(number): \(error.cause)")
                            }
                        }
                        try await bench.time.sleep(for: .seconds(60))
                    }
                    bench.centralAdapter.powerOn()
                    try await group.waitForAll()
                }
                #expect(session.queue.activeFlow == nil)
            }
        }
        let replaced = "another command has taken its place"
        #expect(log.all == ["0: \(replaced): 1", "1: \(replaced): 2", "begin 2", "end 2"])
    }
}
