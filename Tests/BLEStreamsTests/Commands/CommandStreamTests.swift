import BLESimulator
import BLEStreams
import Testing

/// Streams of a command's own link.
@Suite struct CommandStreamTests {
    @Test func `a stream that one consumer iterates twice at once counts the values of both`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(10)) { bench in
            let counting = CommandBlock("count") { context in
                let values = context.notifications(of: Bench.notifying)
                // The tenth value ends the second iteration first; the first one delivers what it has.
                let count = try await values.take(until: values.dropFirst(9)).collect().count
                return (count, values.counters)
            }
            let (count, counters) = try await bench.peripheral.withQueue { queue in
                try await queue.connecting().run(counting)
            }
            #expect(count == 10)
            #expect(counters.received == 20 && counters.delivered == 20 && counters.waiting == 0, "\(counters)")
        }
    }
}
