import BLESimulator
import BLEStreams
import Testing

/// The end of a decorated queue, in every order of its decorators, while a command is under way and others wait.
@Suite(.timeLimit(.minutes(10))) struct QueueEndTests {
    /// Where the first command is when the queue ends.
    enum Moment: CaseIterable, Sendable {
        case connecting, working, pausing
    }

    /// All that makes sense: without connecting nothing is connected, without retrying nothing pauses.
    private static let cases: [(QueueDecoration, Moment)] = QueueDecoration.all.flatMap { decoration in
        Moment.allCases.filter { moment in
            switch moment {
            case .connecting: decoration.has(.connecting)
            case .working: true
            case .pausing: decoration.has(.retrying)
            }
        }.map { (decoration, $0) }
    }

    @Test(arguments: cases)
    func `all commands fail with the end of the queue, at once, and nothing is left`(
        decoration: QueueDecoration,
        moment: Moment
    ) async throws {
        try await Bench.run { bench in
            if moment == .connecting { bench.air.faults.add(.delayConnections(by: .seconds(600))) }
            let first = CommandBlock<Void>("first") { _ in
                if moment == .pausing { throw BLEError(.timedOut, operation: "first", cause: "a test") }
                try await bench.time.sleep(for: .seconds(600))
            }
            let second = CommandBlock<Void>("second") { _ in Issue.record("began behind the end") }
            let ended = try await withThrowingTaskGroup(of: BLEError?.self) { group in
                let ended = try await bench.peripheral.withQueue { plain in
                    if !decoration.has(.connecting) { try await plain.run(.connect) }
                    let policy = RetryPolicy.constant(.seconds(600))
                    let queue = decoration.decorate(plain, limit: .seconds(600), policy: policy) { _ in }
                    group.addTask { await bleError { try await queue.run(first) } }
                    try await bench.time.sleep(for: .seconds(1))
                    let handle = queue.enqueue(second)
                    group.addTask { await bleError { try await queue.run(second) } }
                    group.addTask { await bleError { try await handle.value } }
                    try await bench.time.sleep(for: .seconds(10))
                    return bench.time.now
                }
                for try await error in group { #expect(error?.code == .ended, "\(String(describing: error))") }
                return ended
            }
            #expect(bench.time.now - ended < .seconds(2))
            #expect(bench.centralAdapter.activity.links.isEmpty)
        }
    }

    /// In virtual time, a seed gives the same history each time.
    @Test func `commands that wait are told of the end in the order in which they came`() async throws {
        let told = Recorder<Int>()
        try await VirtualTime.run(order: .firstInFirstOut) { time in
            let air = SimulatedAir(time)
            let central = try await Central.open(.radio(air.adapter()))
            let peripheral = central.peripheral(air.adapter().address)
            let endless = CommandBlock<Void>("endless") { _ in try await time.sleep(for: .seconds(600)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await peripheral.withQueue { queue in
                    for number in 0..<10 {
                        group.addTask {
                            _ = await bleError { try await queue.run(endless) }
                            told.add(number)
                        }
                    }
                    try await time.sleep(for: .seconds(1))
                }
                try await group.waitForAll()
            }
        }
        // The first one was under way.
        #expect(told.all.filter { $0 > 0 } == Array(1..<10))
    }
}
