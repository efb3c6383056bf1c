import BLESimulator
import BLEStreams

/// The steps that receive and send messages in chunks.
extension World {
    func receiveMessage(of number: Int, on link: Link, _ name: String, of central: Int) async throws {
        let receiver = beginsMessage(number, of: central)
        defer { endsMessage(number, of: central) }
        let message = try await link.notifications(of: PlannedPeripheral.outbound, buffer: .unbounded)
            .assembled(until: .endOfMessage()).timeout(.seconds(60)).first()
        reached("message: received")
        // Who takes part in another one's subscription may come in the middle of a message.
        if let planned = plan.peripherals.first(where: { $0.number == number }), message != planned.message,
            !plan.altersMessages, isAlone(receiver, number, of: central)
        {
            report("\(name) gets \(message.count) octets, another message than was sent", "message")
        }
    }

    func sendMessage(to number: Int, on link: Link) async throws {
        guard let planned = plan.peripherals.first(where: { $0.number == number }) else { return }
        try await link.send(planned.message, to: PlannedPeripheral.inbound)
        reached("message: sent")
    }

    /// Runs commands that receive and send, in a queue that is wrapped as it comes.
    func run(_ exchange: PlannedExchange, _ name: String, of central: Int) async throws {
        let peripheral = peripheral(exchange.peripheral, of: central)
        watch.commandsBegan(central, exchange.peripheral)
        defer { watch.commandsEnded(central, exchange.peripheral, at: time.now) }
        if exchange.isInSession {
            try await self.central(central).withSession(Session.Plan(peripheral)) { session in
                try await self.run(exchange, in: self.wrap(session.queue, exchange.wrappings), name, of: central)
            }
        } else {
            try await peripheral.withQueue { queue in
                try await self.run(exchange, in: self.wrap(queue, exchange.wrappings), name, of: central)
            }
        }
    }

    private func run(
        _ exchange: PlannedExchange,
        in queue: CommandQueue,
        _ name: String,
        of central: Int
    ) async throws {
        let number = exchange.peripheral
        let handles = exchange.messages.enumerated().map { place, direction in
            let name = "\(name) \(direction.rawValue) \(place)"
            return queue.enqueue(
                CommandBlock<Void>.block(name) { link in
                    try await self.perform(direction, number, on: link, name, of: central)
                },
                deadline: .seconds(200)
            )
        }
        if let (place, delay) = exchange.cancelled, handles.indices.contains(place) {
            try await time.sleep(for: delay)
            handles[place].cancel()
        }
        for (place, handle) in handles.enumerated() {
            do {
                try await handle.value
                reached("exchange: \(exchange.messages[place].rawValue)")
            } catch let error as BLEError {
                log("\(name): message \(place) fails: \(error)")
                reached("exchange: \(exchange.messages[place].rawValue), \(error.code)")
                check(error, of: name)
            } catch is CancellationError {
                if place != exchange.cancelled?.0, !Task.isCancelled {
                    report("\(name): message \(place) is cancelled", "cancelled")
                }
            }
        }
    }

    /// A message in each direction, in commands of a queue.
    func exchange(_ number: Int, in queue: CommandQueue, _ name: String, of central: Int) async throws {
        for direction in PlannedExchange.Direction.allCases {
            do {
                try await queue.timingOut(after: .seconds(60)).run(
                    CommandBlock<Void>.block("\(name) \(direction.rawValue)") { link in
                        try await self.perform(direction, number, on: link, name, of: central)
                    }
                )
                reached("exchange of a fleet: \(direction.rawValue)")
            } catch let error as BLEError {
                log("\(name): \(error)")
                check(error, of: name)
            }
        }
    }

    private func perform(
        _ direction: PlannedExchange.Direction,
        _ number: Int,
        on link: Link,
        _ name: String,
        of central: Int
    ) async throws {
        switch direction {
        case .receives: try await receiveMessage(of: number, on: link, name, of: central)
        case .sends: try await sendMessage(to: number, on: link)
        }
    }

    // MARK: - Consumers that share

    func share(
        _ number: Int,
        _ manners: [Manner],
        _ buffer: BufferPolicy,
        _ name: String,
        of central: Int
    ) async throws {
        let shared = peripheral(number, of: central).stream(timeout: .seconds(20)) { link in
            link.notifications(of: PlannedPeripheral.notifying, buffer: buffer).timeout(.seconds(70))
        }
        .retry(.exponential(attempts: 4)).share(buffer: buffer)
        let route = AirWatch.Route(central: central, peripheral: number, channel: .notified)
        watch.began(route)
        defer { watch.ended(route, at: time.now) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, manner) in manners.enumerated() {
                group.addTask {
                    try await self.time.sleep(for: .seconds(3) * place)
                    let consumer = Consumer(self, central: central, "\(name).\(place)", .complete)
                    do { try await self.consume(shared, consumer, manner) } catch let error as BLEError {
                        self.check(error, of: name)
                    }
                }
            }
            try await group.waitForAll()
        }
        reached("shared")
    }
}
