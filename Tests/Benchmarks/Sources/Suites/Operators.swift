import BLEStreams
import CBenchmarks

/// What one more operator in a chain costs an element, off the main actor and on it: values of a link that are there.
struct Operators {
    private let suite = "operators"
    private let count = 200_000

    @MainActor
    func run(_ runs: Int) async throws -> [Row] {
        var rows: [Row] = []
        for isOnMain in [false, true] {
            var (bare, maps, filters, timeouts): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
            for _ in 0..<runs {
                let unchained = try await time(isOnMain) { $0 }
                bare.append(unchained)
                maps.append(try await time(isOnMain) { $0.map { $0.count } } - unchained)
                filters.append(try await time(isOnMain) { $0.filter { !$0.isIndication } } - unchained)
                timeouts.append(try await time(isOnMain) { $0.timeout(.seconds(10)) } - unchained)
            }
            let place = isOnMain ? ", on the main actor" : ""
            rows += [
                Row(suite, "an element of an unchained stream" + place, .cost, bare),
                Row(suite, "  a chained map" + place, .cost, maps, goal: .atMost(0.08)),
                Row(suite, "  a chained filter" + place, .cost, filters, goal: .atMost(0.08)),
                Row(suite, "  a chained timeout" + place, .cost, timeouts, goal: .atMost(0.3)),
            ]
        }
        return rows
    }

    /// Microseconds for each element.
    @MainActor
    private func time<Element>(
        _ isOnMain: Bool,
        _ chain: @Sendable (BLEStream<CharacteristicValue>) -> BLEStream<Element>
    ) async throws -> Double {
        let nanoseconds = isOnMain ? try await iterate(chain) : try await iterateElsewhere(chain)
        return Double(nanoseconds) / Double(count) / 1000
    }

    /// Nanoseconds for all elements, which are in the buffer before the first is taken.
    private func iterate<Element>(
        _ chain: @Sendable (BLEStream<CharacteristicValue>) -> BLEStream<Element>
    ) async throws -> UInt64 {
        let radio = DirectRadio()
        let central = try await Central.open(.radio(radio))
        return try await central.peripheral(radio.link.peer).withLink { link in
            _ = try await link.discover()
            var iterator = chain(link.notifications(of: .handle(3), buffer: .unbounded)).makeAsyncIterator()
            let octets: [UInt8] = [0x1B, 3, 0] + [UInt8](repeating: 7, count: 20)
            radio.link.afterSubscription = [octets]
            _ = try await iterator.next()
            let batch = (0..<1000).map { _ in octets.map { $0 } }
            for _ in 0..<count / batch.count { radio.link.bring(batch) }
            // Nothing waits here, so processor time is the time, also where others keep the machine busy.
            let begin = CBenchmarks_processorTime()
            for _ in 0..<count where try await iterator.next() == nil { throw ElementMissing() }
            return CBenchmarks_processorTime() - begin
        }
    }

    @concurrent private func iterateElsewhere<Element>(
        _ chain: @Sendable (BLEStream<CharacteristicValue>) -> BLEStream<Element>
    ) async throws -> UInt64 { try await iterate(chain) }

    private struct ElementMissing: Error {}
}
