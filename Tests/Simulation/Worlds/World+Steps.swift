import BLESimulator
import BLEStreams

/// The steps of a program.
extension World {
    func perform(_ step: PlannedStep, _ name: String, of central: Int) async throws {
        switch step {
        case .use(let number, let actions, let timeout):
            try await peripheral(number, of: central).withLink(timeout: timeout) { link in
                for action in actions { try await self.perform(action, on: link, name) }
            }
        case .follow(let number, let channel, let within, let chain, let buffer, let manner):
            try await follow(number, channel, within: within, chain, buffer, manner, name, of: central)
        case .session(let session): try await run(session, name, of: central)
        case .restored(let numbers): try await restore(numbers, name, of: central)
        case .fleet(let numbers, let wrappings, let manner):
            try await runFleet(numbers, wrappings, manner, name, of: central)
        case .queue(let number, let wrappings, let actions, let cancelled):
            try await runQueue(number, wrappings, actions, cancelled, name, of: central)
        case .flows(let number, let flows, let pause, let isRetried):
            try await runFlows(number, flows, pause, isRetried: isRetried, name, of: central)
        case .typed(let number, let manner): try await followTyped(number, manner, name, of: central)
        case .scan(let manner): try await scan(manner, name, of: central)
        case .presence(let manner): try await watchPresence(manner, name, of: central)
        case .observes(let number, let manner): try await observe(number, manner, name, of: central)
        case .serial(let number): try await useSerialLine(number, name, of: central)
        case .receivesMessage(let number):
            try await peripheral(number, of: central).withLink(timeout: .seconds(30)) { link in
                try await self.receiveMessage(of: number, on: link, name, of: central)
            }
        case .sendsMessage(let number):
            try await peripheral(number, of: central).withLink(timeout: .seconds(30)) { link in
                try await self.sendMessage(to: number, on: link)
            }
        case .exchange(let exchange): try await run(exchange, name, of: central)
        case .share(let number, let manners, let buffer):
            try await share(number, manners, buffer, name, of: central)
        case .serves: try await serve(name, of: central)
        case .visits(let other, let manner): try await visit(other, manner, name, of: central)
        case .rests(let duration): try await time.sleep(for: duration)
        }
    }

    func perform(_ action: LinkAction, on link: Link, _ name: String) async throws {
        log("\(name): \(action.rawValue)")
        do {
            try await attempt(action, on: link, name)
            reached("\(action.rawValue): done")
        } catch let error as BLEError {
            reached("\(action.rawValue): \(error.code)")
            throw error
        }
    }

    private func attempt(_ action: LinkAction, on link: Link, _ name: String) async throws {
        switch action {
        case .read: expect(try await link.read(PlannedPeripheral.readable), [[1, 2, 3], [4, 5]], name)
        case .write: try await link.write([4, 5], to: PlannedPeripheral.readable)
        case .writeCommand: try await link.write([4, 5], to: PlannedPeripheral.readable, .withoutResponse)
        case .readLong:
            // Another central may write between its parts.
            let value = try await link.read(PlannedPeripheral.long)
            let isWhole =
                value.count == 400 && zip(value, PlannedPeripheral.longValue).allSatisfy { $0 == $1 || $0 == 7 }
            if !isWhole, !plan.altersValues { report("\(name) reads \(value.count) octets that nobody wrote", "value") }
        case .writeLong: try await link.write([UInt8](repeating: 7, count: 400), to: PlannedPeripheral.long)
        case .readSecret: expect(try await link.read(PlannedPeripheral.secret), [PlannedPeripheral.secretValue], name)
        case .discover: _ = try await link.discover()
        case .readTogether:
            try await link.exclusively { link in
                _ = try await link.read(PlannedPeripheral.readable)
                _ = try await link.read(PlannedPeripheral.long)
            }
        case .pause: try await time.sleep(for: .seconds(4))
        case .name: _ = try await link.deviceName()
        case .readAll: _ = try await link.readAll(PlannedPeripheral.readable)
        case .pair: try await link.pair()
        case .unpair: try await link.peripheral.unpair()
        case .forgetServices: link.forgetServices()
        case .signal: _ = try await link.rssi()
        }
    }

    private func expect(_ value: CharacteristicValue, _ expected: [[UInt8]], _ name: String) {
        if !expected.contains(Array(value)), !plan.altersValues {
            report("\(name) reads \(value.count) octets that nobody has written", "value")
        }
    }

    // MARK: - Queues

    private func runQueue(
        _ number: Int,
        _ wrappings: [Wrapping],
        _ actions: [LinkAction],
        _ cancelled: Int?,
        _ name: String,
        of central: Int
    ) async throws {
        watch.commandsBegan(central, number)
        defer { watch.commandsEnded(central, number, at: time.now) }
        try await peripheral(number, of: central).withQueue { queue in
            let queue = wrap(queue, wrappings)
            let handles = actions.enumerated().map { index, action in
                queue.enqueue(
                    CommandBlock<Void>.block("\(name) \(action.rawValue)") { link in
                        try await self.perform(action, on: link, name)
                    },
                    priority: index % 3 == 0 ? .high : .normal,
                    deadline: index % 4 == 3 ? .seconds(40) : nil
                )
            }
            if let cancelled, cancelled < handles.count { handles[cancelled].cancel() }
            for (index, handle) in handles.enumerated() {
                do { try await handle.value } catch let error as BLEError {
                    check(error, of: name)
                } catch is CancellationError {
                    if index != cancelled, !Task.isCancelled {
                        report("\(name): command \(index) is cancelled", "cancelled")
                    }
                }
            }
        }
    }

    func wrap(_ queue: CommandQueue, _ wrappings: [Wrapping]) -> CommandQueue {
        wrappings.reduce(queue) { queue, wrapping in
            switch wrapping {
            case .connecting: queue.connecting(timeout: .seconds(20), then: .disconnectWhenIdle(.seconds(5)))
            case .retrying: queue.retrying(.exponential(attempts: 3))
            case .timingOut: queue.timingOut(after: .seconds(90))
            case .authorizing:
                queue.authorizing { link in try await link.write([4, 5], to: PlannedPeripheral.readable) }
            }
        }
    }
}
