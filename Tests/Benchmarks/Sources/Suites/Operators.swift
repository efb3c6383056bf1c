import BLEStreams
import CBenchmarks

/// What one more operator in a chain costs an element, off the main actor and on it: no socket, values that are there.
struct Operators {
    private let suite = "operators"
    private let count = 400_000

    private typealias Chain = @Sendable (BLEStream<CharacteristicValue>) -> BLEStream<CharacteristicValue>

    @MainActor
    func run(_ runs: Int) async throws -> [Row] {
        let chains: [(name: String, goal: Double, chain: Chain)] = [
            ("a chained map", 0.08, { $0.map { CharacteristicValue(bytes: $0.bytes, time: $0.time) } }),
            ("a chained filter", 0.08, { $0.filter { $0.count == 20 } }),
            ("a chained timeout", 0.3, { $0.timeout(.seconds(10)) }),
        ]
        var rows: [Row] = []
        for isOnMain in [false, true] {
            var bare: [Double] = []
            var costs = chains.map { _ in [Double]() }
            for _ in 0..<runs {
                let unchained = try await time(isOnMain) { $0 }
                bare.append(unchained)
                for (number, chain) in chains.enumerated() {
                    costs[number].append(try await time(isOnMain, chain.chain) - unchained)
                }
            }
            let place = isOnMain ? ", on the main actor" : ""
            rows.append(Row(suite, "an element of an unchained stream" + place, .cost, bare))
            for (chain, cost) in zip(chains, costs) {
                var blocks: Double?
                if !isOnMain { blocks = try await allocations(of: count) { _ = try await time(false, chain.chain) } }
                rows.append(
                    Row(suite, chain.name + place, .cost, cost, goal: .atMost(chain.goal), allocations: blocks)
                )
            }
        }
        return rows
    }

    /// Microseconds for each element.
    @MainActor
    private func time(_ isOnMain: Bool, _ chain: Chain) async throws -> Double {
        let nanoseconds = isOnMain ? try await iterate(chain) : try await iterateElsewhere(chain)
        return Double(nanoseconds) / Double(count) / 1000
    }

    /// Nanoseconds for all elements, which are in the buffer before the first is taken.
    private func iterate(_ chain: Chain) async throws -> UInt64 {
        let value = CharacteristicValue(
            bytes: [UInt8](repeating: 7, count: 20)[...],
            time: ReceptionTime(sinceEpoch: .seconds(1), source: .reading)
        )
        let count = count
        let source = BLEStream<CharacteristicValue>(buffer: .unbounded) { feed in
            feed.send(contentsOf: repeatElement(value, count: count + 1))
            feed.finish()
            return {}
        }
        var iterator = chain(source).makeAsyncIterator()
        _ = try await iterator.next()
        let begin = CBenchmarks_now()
        var taken = 0
        while let value = try await iterator.next() { taken += value.isIndication ? 0 : 1 }
        let end = CBenchmarks_now()
        precondition(taken == count, "elements are missing")
        return end - begin
    }

    @concurrent private func iterateElsewhere(_ chain: Chain) async throws -> UInt64 { try await iterate(chain) }
}
