import BLESimulator
import BLEStreams
import Testing

/// How a consumer behaves.
struct Consumer: Sendable {
    /// Leaves the loop after so many elements.
    var breaksAfter: Int?
    /// Is cancelled in this second.
    var isCancelledIn: Int?
    /// Is busy for so many seconds with each element.
    var isBusyFor = 0
}

/// What came of a play.
struct Performance: Sendable {
    /// What the consumer saw.
    var output: String
    /// What was thrown.
    var error: (any Error)?
    /// When the sources were opened and closed.
    var openings: [String]
    /// How often each opening was closed; 1 when all is well.
    var closings: [Int]
    /// The counters of the stream at the end.
    var counters: StreamCounters
}

/// Has a consumer iterate a stream in virtual time, `iterations` times one after the other, and draws what it sees.
///
/// It is done with several seeds, so with several orders of what happens at once, and must come out alike.
///
/// - Parameter isNoticed: whether tasks of the stream's own are waited for, which take notice of its end a moment
///   later.
func play<Element: Sendable>(
    _ consumer: Consumer = Consumer(),
    iterations: Int = 1,
    seeds: ClosedRange<UInt64> = 1...3,
    isNoticed: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ build: @escaping @Sendable (Stage) -> BLEStream<Element>
) async throws -> Performance {
    var first: Performance?
    for seed in seeds {
        let performance = try await VirtualTime.run(seed: seed) { time in
            let stage = Stage(time)
            let stream = build(stage)
            var marbles = Marbles()
            var error: (any Error)?
            for _ in 0..<iterations {
                (marbles, error) = await perform(consumer, stream, stage)
            }
            if isNoticed { try await time.sleep(for: .milliseconds(1)) }
            return Performance(
                output: marbles.description,
                error: error,
                openings: stage.openings.map(\.description),
                closings: stage.openings.map(\.closings),
                counters: stream.counters
            )
        }
        if let first {
            #expect(performance.output == first.output, "another seed, another output", sourceLocation: sourceLocation)
            #expect(performance.openings == first.openings, sourceLocation: sourceLocation)
        }
        first = first ?? performance
    }
    return try #require(first)
}

private func perform<Element: Sendable>(
    _ consumer: Consumer,
    _ stream: BLEStream<Element>,
    _ stage: Stage
) async -> (Marbles, (any Error)?) {
    let beginning = stage.second
    return await withTaskGroup(of: (Marbles, (any Error)?)?.self) { group in
        group.addTask { await consume(stream, consumer, stage, since: beginning) }
        if let second = consumer.isCancelledIn {
            group.addTask {
                // Half a second later than what else happens in that second.
                try? await stage.time.sleep(for: .seconds(second) + .milliseconds(500))
                return nil
            }
        }
        while let result = await group.next() {
            group.cancelAll()
            if let result { return result }
        }
        return (Marbles(), nil)
    }
}

private func event(of element: some Sendable) -> Marbles.Event {
    guard let gapped = element as? Gapped<String> else { return .element(String(describing: element)) }
    switch gapped {
    case .value(let value): return .element(value)
    case .gap(let gap): return gap.reason == nil ? .loss : .interruption
    }
}

private func consume<Element: Sendable>(
    _ stream: BLEStream<Element>,
    _ consumer: Consumer,
    _ stage: Stage,
    since beginning: Int
) async -> (Marbles, (any Error)?) {
    var marbles = Marbles()
    var left = consumer.breaksAfter ?? .max
    do {
        for try await element in stream {
            marbles.add(event(of: element), stage.second - beginning)
            left -= 1
            if left == 0 { return (marbles, nil) }
            // It doesn't heed cancellation, and is done a little after what else happens in that second.
            if consumer.isBusyFor > 0 { await stage.work(for: consumer.isBusyFor, and: .milliseconds(100)) }
        }
        marbles.add(.end, stage.second - beginning)
        return (marbles, nil)
    } catch {
        marbles.add(error is CancellationError ? .cancellation : .failure, stage.second - beginning)
        return (marbles, error)
    }
}

extension Gapped {
    var value: Value? {
        if case .value(let value) = self { value } else { nil }
    }

    var gap: StreamGap? {
        if case .gap(let gap) = self { gap } else { nil }
    }
}
