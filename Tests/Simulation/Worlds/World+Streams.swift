import BLESimulator
import BLEStreams

/// The steps that take values.
extension World {
    /// Takes the values of a stream as its manner has it.
    func consume(
        _ stream: BLEStream<CharacteristicValue>,
        _ consumer: Consumer,
        _ manner: Manner
    ) async throws {
        if manner.count == .max, manner.pace == .zero {
            return try await stream.withGaps().receive { item in
                switch item {
                case .gap(let gap): consumer.take(gap)
                case .value(let value): consumer.take(value)
                }
            }
        }
        var count = 0
        for try await item in stream.withGaps() {
            switch item {
            case .gap(let gap): consumer.take(gap)
            case .value(let value):
                consumer.take(value)
                count += 1
                if count >= manner.count { return }
                try await time.sleep(for: manner.pace)
            }
        }
    }

    func follow(
        _ number: Int,
        _ channel: NumberedValue.Channel,
        within: [ChainLink],
        _ chain: [ChainLink],
        _ buffer: BufferPolicy,
        _ manner: Manner,
        _ name: String,
        of central: Int
    ) async throws {
        let peripheral = peripheral(number, of: central)
        let isTimed = chain.contains(.timeout)
        let source = peripheral.stream(timeout: .seconds(20)) { link in
            let values = link.notifications(of: NumberedValue.uuid(of: channel), buffer: buffer)
            return within.reduce(isTimed ? values.timeout(.seconds(15)) : values) { self.apply($1, to: $0) }
        }
        var stream = source.retry()
        for link in chain { stream = apply(link, to: stream) }
        let route = AirWatch.Route(central: central, peripheral: number, channel: channel)
        watch.began(route)
        defer { watch.ended(route, at: time.now) }
        let isComplete = (within + chain).allSatisfy(\.keepsValues)
        try await consume(stream, Consumer(self, central: central, name, isComplete ? .complete : .order), manner)
        let counters = source.counters
        if counters.waiting != 0 || counters.delivered < 0 || counters.dropped < 0 {
            report("\(name): a stream that is over has counted \(counters)", "counters")
        }
    }

    private func apply(
        _ link: ChainLink,
        to stream: BLEStream<CharacteristicValue>
    ) -> BLEStream<CharacteristicValue> {
        switch link {
        case .map: stream.map { $0 }
        case .filter: stream.filter { _ in true }
        case .buffered: stream.buffered(.unbounded)
        case .share: stream.share()
        case .timeout: stream
        case .throttle: stream.throttle(for: .seconds(2))
        case .debounce: stream.debounce(for: .milliseconds(200))
        case .prefix: stream.prefix(for: .seconds(60))
        case .distinct: stream.distinct { Array($0) }
        case .dropFirst: stream.dropFirst(2)
        case .onEach: stream.onEach { _ in }
        case .compactMap: stream.compactMap { $0 }
        case .merge: stream.merge(with: BLEStream([], timeline: time))
        case .flatMap: stream.flatMap { [time] in BLEStream([$0], timeline: time) }
        case .reductions: stream.reductions(into: CharacteristicValue?.none) { $0 = $1 }.compactMap { $0 }
        case .batched: stream.batched(atMost: 7).flatMap { [time] in BLEStream($0, timeline: time) }
        case .combineLatest: stream.combineLatest(with: BLEStream([0], timeline: time)).map(\.0)
        case .takeUntil: stream.take(until: peripheral(0, of: 0).connectionStates.dropFirst(4))
        case .replay: stream.share(replay: 3)
        case .retryAgain: stream.retry(.exponential(attempts: 3))
        case .dropWhile: stream.drop { $0.isEmpty }
        case .takeWhile: stream.take { $0.count > 512 }
        case .newest: stream.buffered(.newest(4))
        case .zip: stream.zip(with: BLEStream(0..<Int.max, timeline: time)).map(\.0)
        }
    }
}

extension ChainLink {
    /// Whether all values pass.
    var keepsValues: Bool {
        switch self {
        case .map, .filter, .buffered, .share, .timeout, .onEach, .compactMap, .prefix, .merge, .flatMap, .reductions,
            .batched, .takeUntil, .replay, .retryAgain, .dropWhile, .takeWhile, .newest:
            true
        case .throttle, .debounce, .distinct, .dropFirst, .combineLatest, .zip: false
        }
    }
}
