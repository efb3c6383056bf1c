import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// A session whose streams go on while a flow in its queue is replaced, and whose link is lost meanwhile.
@Suite(.timeLimit(.minutes(10))) struct ReplacingInSessionQueueTests {
    /// Hears what the session hears and more, until it is replaced; then tells the device to stop.
    private struct Listening: Command {
        let heard: Recorder<UInt32>
        let hasConcluded: Flag

        func run(in context: CommandContext) async throws {
            context.begin("listen")
            do {
                try await context.resuming(.constant(.milliseconds(200), attempts: 50)) {
                    try await context.subscribe(to: Bench.counter)
                    try await context.subscribe(to: .uuid(Bench.notifying, in: BluetoothUUID(0xA000)))
                    while true {
                        let (value, source) = try await context.value(timeout: .seconds(20))
                        if source == Bench.counter.reference { heard.add(UInt32(octets: value)) }
                        context.achieved()
                    }
                }
            } catch {
                await context.conclude([0xFF], on: Bench.dynamic, limit: .seconds(3)) { $0.bytes == [0xFF] }
                hasConcluded.set()
                throw error
            }
        }
    }

    /// Reads a few times, on as many links as it takes.
    private struct Reading: Command {
        let time: VirtualTime
        let onRead: @Sendable (Int) -> Void

        func run(in context: CommandContext) async throws -> Int {
            context.begin("read", total: 5)
            var done = 0
            onRead(0)
            try await context.resuming(.constant(.milliseconds(200), attempts: 50)) {
                while done < 5 {
                    try await time.sleep(for: .milliseconds(300))
                    let value = try await context.read(Bench.readable)
                    #expect(value.bytes == [1, 2, 3])
                    done += 1
                    context.progress(done, of: 5)
                    onRead(done)
                }
            }
            return done
        }
    }

    /// When the link is lost.
    private enum Loss: CaseIterable {
        case beforeTheFirst, duringTheFirst, whileItConcludes, asTheSecondBegins, duringTheSecond, thrice
    }

    /// Sends rising numbers, and gives back what is written to it.
    private static let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await write in server.writes(to: Bench.dynamic) {
                    write.accept()
                    _ = try? await server.notify(write.value, of: Bench.dynamic, to: write.central)
                }
            }
            for uuid in [Bench.notifying, Bench.counter] {
                group.addTask {
                    var number: UInt32 = 0
                    while true {
                        _ = try await server.notify(number.octets, of: uuid)
                        number += 1
                        try await bench.time.sleep(for: .milliseconds(100))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// What the session's own stream has received.
    private struct Log: Sendable {
        let numbers = Recorder<UInt32>()
        let gaps = Recorder<StreamGap>()
        let heard = Recorder<UInt32>()
        let ends = Recorder<BLEError?>()
        let hasConcluded = Flag()

        func listen(to session: Session) async throws {
            for try await item in session.notifications(of: Bench.notifying).withGaps() {
                switch item {
                case .value(let value): numbers.add(UInt32(octets: value))
                case .gap(let gap): gaps.add(gap)
                }
            }
        }
    }

    @Test(arguments: Loss.allCases.indices, 1...3 as ClosedRange<UInt64>)
    func `the streams go on behind a gap, the former flow ends, the new one is done`(
        number: Int,
        seed: UInt64
    ) async throws {
        let loss = Loss.allCases[number]
        try await Bench.run(seed: seed, serve: Self.serve) { bench in
            let log = Log()
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await log.listen(to: session) }
                    group.addTask { try await Self.replace(in: session, losing: loss, seed, log, bench) }
                    try await group.next()
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
            }
            // In order and none twice; missing in gaps alone, one for each link that was lost.
            let steps = zip(log.numbers.all, log.numbers.all.dropFirst()).map { Int($1) - Int($0) }
            let losses = loss == .thrice ? 3 : 1
            #expect(steps.allSatisfy { $0 > 0 } && steps.filter { $0 != 1 }.count <= losses, "\(steps)")
            #expect(log.gaps.all.count == losses && log.gaps.all.allSatisfy { $0.reason is BLEError })
            #expect(log.heard.all == log.heard.all.sorted() && log.heard.all.count > 5)
            let links = bench.air.trace.filter { if case .connected = $0.event { true } else { false } }.count
            #expect(links == losses + 1)
        }
    }

    /// Runs a flow in the session's queue, replaces it by another one, and loses the link when it is to be lost.
    private static func replace(
        in session: Session,
        losing loss: Loss,
        _ seed: UInt64,
        _ log: Log,
        _ bench: Bench
    ) async throws {
        var chance = Chance(seed: seed)
        let drop: @Sendable (Duration) -> Void = { _ = bench.air.faults.add(.dropLink(after: $0)) }
        try await session.ready()
        try await bench.time.sleep(for: .milliseconds(500 + chance.below(500)))
        if loss == .beforeTheFirst { drop(.zero) }
        let (pause, instant) = (
            Duration.milliseconds(3_000 + chance.below(1_000)), Duration.milliseconds(chance.below(40))
        )
        async let former: Void = listen(in: session, log)
        try await bench.time.sleep(for: .seconds(3))
        if loss == .duringTheFirst || loss == .thrice { drop(.zero) }
        try await bench.time.sleep(for: pause)
        if loss == .whileItConcludes || loss == .thrice { drop(instant) }
        let reading = Reading(time: bench.time) { done in
            if done == 0, loss == .asTheSecondBegins { drop(.zero) }
            if done == 2, loss == .duringTheSecond || loss == .thrice { drop(.zero) }
        }
        let count = try await session.queue.run(reading, replacing: .activeFlow)
        #expect(count == 5 && log.hasConcluded.isSet && session.queue.activeFlow == nil)
        await former
        let ends = log.ends.all.compactMap { $0 }
        #expect(ends.map(\.code) == [.ended] && ends.first?.cause.contains("Reading") == true, "\(ends)")
        // The session's own subscription is as it was, the flow's is off.
        let before = log.numbers.all.count
        try await bench.time.sleep(for: .seconds(2))
        #expect(log.numbers.all.count > before + 5)
        let configurations = try await session.withLink { try await Self.configurations($0) }
        #expect(configurations == [[1, 0], [0, 0], [0, 0]])
    }

    private static func listen(in session: Session, _ log: Log) async {
        let flow = Listening(heard: log.heard, hasConcluded: log.hasConcluded)
        log.ends.add(await bleError { try await session.queue.run(flow, replacing: .activeFlow) })
    }

    private static func configurations(_ link: Link) async throws -> [[UInt8]] {
        let found = try await link.discover()
        var values: [[UInt8]] = []
        for uuid in [Bench.notifying, Bench.counter, Bench.dynamic] {
            let handle = try #require(found.characteristic(uuid)?.clientConfiguration).handle
            values.append(Array(try await link.read(.handle(handle))))
        }
        return values
    }
}
