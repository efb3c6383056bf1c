import BLESimulator
import BLEStreams

/// The steps that run sessions, one or a fleet of them.
extension World {
    func run(_ session: PlannedSession, _ name: String, of central: Int) async throws {
        let (number, uuid) = (session.peripheral, NumberedValue.uuid(of: session.channel))
        var plan: Session.Plan =
            session.finds ? Session.Plan(finding: .name("P\(number)")) : Session.Plan(peripheral(number, of: central))
        // Half of them leave it to the stream to subscribe.
        if session.actions.count.isMultiple(of: 2) { plan = plan.subscribing(to: uuid) }
        plan.isKept = session.isKept
        let route = AirWatch.Route(central: central, peripheral: number, channel: session.channel)
        watch.began(route)
        defer { watch.ended(route, at: time.now) }
        try await self.central(central).withSession(plan) { running in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await self.watchStates(of: running, name) {
                        if session.isKept { self.noteKept(number, by: central) }
                    }
                    return false
                }
                group.addTask {
                    try await self.perform(session.actions, session.wrappings, in: running, name)
                    return false
                }
                group.addTask {
                    try await self.obey(session.orders, in: running, name)
                    return false
                }
                group.addTask {
                    let stream = running.notifications(of: uuid, buffer: session.buffer)
                    // What comes while a session gives its link up is nobody's, whatever ends the link in the end.
                    let promise: Consumer.Promise = session.orders.contains(.disconnect) ? .order : .complete
                    let consumer = Consumer(self, central: central, name, promise)
                    try await self.consume(stream, consumer, session.manner)
                    return true
                }
                defer { group.cancelAll() }
                while let isOver = try await group.next() { if isOver { return } }
            }
        }
    }

    private func perform(
        _ actions: [LinkAction],
        _ wrappings: [Wrapping],
        in session: Session,
        _ name: String
    ) async throws {
        let queue = wrap(session.queue, wrappings).timingOut(after: .seconds(60))
        for action in actions {
            try? await session.withLink(timeout: .seconds(60)) { link in
                try await self.perform(action, on: link, name)
            }
            try Task.checkCancellation()
            let command = CommandBlock<Void>.block(name) { link in try await self.perform(action, on: link, name) }
            do { try await queue.run(command) } catch let error as BLEError { check(error, of: name) }
            try Task.checkCancellation()
        }
    }

    private func obey(_ orders: [SessionOrder], in session: Session, _ name: String) async throws {
        for order in orders {
            try await time.sleep(for: .seconds(3))
            log("\(name): \(order)")
            do {
                switch order {
                case .disconnect:
                    await session.disconnect()
                    try Task.checkCancellation()
                    if session.state.kind == .ready { report("\(name): is ready behind disconnect()", "order") }
                case .connect: try session.connect()
                case .search: try session.search()
                case .reset: try session.reset()
                case .rest: break
                }
                reached("session: \(order)")
            } catch let error as SessionState.IllegalTrigger {
                reached("session: \(order) refused")
                log("\(name): \(error)")
            }
        }
    }

    /// Goes on with the sessions of an earlier life.
    func restore(_ numbers: [Int], _ name: String, of central: Int) async throws {
        let routes = numbers.flatMap { number in
            [NumberedValue.Channel.notified, .indicated].map {
                AirWatch.Route(central: central, peripheral: number, channel: $0)
            }
        }
        for route in routes { watch.began(route) }
        defer { for route in routes { watch.ended(route, at: time.now) } }
        try await self.central(central).withFleet { fleet in
            let sessions = try fleet.restore()
            if sessions.count < numbers.count { report("\(name): \(sessions.count) sessions of \(numbers)", "kept") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for session in sessions {
                    guard let number = session.peripheral.flatMap({ self.number(of: $0.address) }) else { continue }
                    group.addTask {
                        try await self.exchange(number, in: session.queue, "\(name).\(number)", of: central)
                    }
                }
                let consumer = Consumer(self, central: central, name, .order)
                for try await value in fleet.values {
                    reached("value of a restored session")
                    consumer.take(value.value)
                }
                group.cancelAll()
            }
        }
    }

    /// Each transition is one that the table has, and begins where the one before has ended.
    private func watchStates(of session: Session, _ name: String, whenReady: () -> Void) async throws {
        var last: SessionState.Kind?
        for try await transition in session.states {
            check(transition, after: last, name)
            last = transition.state.kind
            if last == .ready { whenReady() }
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

    func runFleet(
        _ numbers: [Int],
        _ wrappings: [Wrapping],
        _ manner: Manner,
        _ name: String,
        of central: Int
    ) async throws {
        let routes = numbers.map { AirWatch.Route(central: central, peripheral: $0, channel: .notified) }
        for route in routes { watch.began(route) }
        defer { for route in routes { watch.ended(route, at: time.now) } }
        try await self.central(central).withFleet { fleet in
            let sessions = numbers.map { number in
                fleet.add(
                    Session.Plan(self.peripheral(number, of: central)).subscribing(to: PlannedPeripheral.notifying)
                )
            }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await self.takeValues(of: fleet, manner, name, of: central)
                    return true
                }
                for (number, session) in zip(numbers, sessions) {
                    group.addTask {
                        let queue = self.wrap(session.queue, wrappings)
                        try await self.exchange(number, in: queue, "\(name).\(number)", of: central)
                        return false
                    }
                }
                defer { group.cancelAll() }
                while let isOver = try await group.next() { if isOver { return } }
            }
        }
    }

    private func takeValues(of fleet: Fleet, _ manner: Manner, _ name: String, of central: Int) async throws {
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
