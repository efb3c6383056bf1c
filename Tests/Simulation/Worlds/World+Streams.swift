import BLESimulator
import BLEStreams

/// The steps that take values.
extension World {
    /// Takes the values of a stream as its manner has it.
    private func consume(
        _ stream: BLEStream<CharacteristicValue>,
        _ consumer: Consumer,
        _ manner: Manner
    ) async throws {
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
            return isTimed ? values.timeout(.seconds(15)) : values
        }
        var stream = source.retry()
        for link in chain { stream = apply(link, to: stream) }
        let route = AirWatch.Route(central: central, peripheral: number, channel: channel)
        watch.began(route)
        defer { watch.ended(route, at: time.now) }
        let isComplete = chain.allSatisfy(\.keepsValues)
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
        }
    }

    // MARK: - Sessions

    func runSession(
        _ subject: Session.Plan,
        _ actions: [LinkAction],
        _ channel: NumberedValue.Channel,
        _ buffer: BufferPolicy,
        _ manner: Manner,
        _ name: String,
        of central: Int,
        _ number: Int
    ) async throws {
        let uuid = NumberedValue.uuid(of: channel)
        // Half of them leave it to the stream to subscribe.
        let plan = actions.count.isMultiple(of: 2) ? subject.subscribing(to: uuid) : subject
        let route = AirWatch.Route(central: central, peripheral: number, channel: channel)
        watch.began(route)
        defer { watch.ended(route, at: time.now) }
        try await centrals[central].withSession(plan) { session in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await self.watchStates(of: session, name)
                    return false
                }
                group.addTask {
                    for action in actions {
                        try? await session.withLink(timeout: .seconds(60)) { link in
                            try await self.perform(action, on: link, name)
                        }
                        try Task.checkCancellation()
                        let command = CommandBlock<Void>.block(name) { link in
                            try await self.perform(action, on: link, name)
                        }
                        try? await session.queue.timingOut(after: .seconds(60)).run(command)
                        try Task.checkCancellation()
                    }
                    return false
                }
                group.addTask {
                    let stream = session.notifications(of: uuid, buffer: buffer)
                    try await self.consume(stream, Consumer(self, central: central, name, .complete), manner)
                    return true
                }
                defer { group.cancelAll() }
                while let isOver = try await group.next() { if isOver { return } }
            }
        }
    }

    /// Each transition is one that the table has, and begins where the one before has ended.
    private func watchStates(of session: Session, _ name: String) async throws {
        var last: SessionState.Kind?
        for try await transition in session.states {
            check(transition, after: last, name)
            last = transition.state.kind
        }
    }

    private func check(_ transition: Session.Transition, after last: SessionState.Kind?, _ name: String) {
        guard let previous = transition.previous, let cause = transition.cause?.trigger else { return }
        log("\(name): \(transition)")
        let (from, to) = (previous.kind, transition.state.kind)
        reached("session: \(from.rawValue), \(cause.kind.rawValue), \(to.rawValue)")
        if let last, last != from { report("\(name): a session leaves \(from), and was in \(last)", "transition") }
        let isLegal = ConnectionMachine.rules.contains { $0.from == from && $0.trigger == cause.kind && $0.to == to }
        if !isLegal { report("\(name): no rule has \(from), \(cause.kind), \(to)", "transition") }
    }

    func runFleet(_ numbers: [Int], _ manner: Manner, _ name: String, of central: Int) async throws {
        let routes = numbers.map { AirWatch.Route(central: central, peripheral: $0, channel: .notified) }
        for route in routes { watch.began(route) }
        defer { for route in routes { watch.ended(route, at: time.now) } }
        try await centrals[central].withFleet { fleet in
            for number in numbers {
                fleet.add(
                    Session.Plan(self.peripheral(number, of: central)).subscribing(to: PlannedPeripheral.notifying)
                )
            }
            let consumer = Consumer(self, central: central, name, .order)
            var count = 0
            for try await value in fleet.values {
                consumer.take(value.value)
                count += 1
                if count >= manner.count { return }
                if count == 5, let first = fleet.sessions.first { await fleet.remove(first) }
                try await time.sleep(for: manner.pace)
            }
        }
    }
}

extension ChainLink {
    /// Whether all values pass.
    var keepsValues: Bool {
        switch self {
        case .map, .filter, .buffered, .share, .timeout, .onEach, .compactMap, .prefix: true
        case .throttle, .debounce, .distinct, .dropFirst: false
        }
    }
}
