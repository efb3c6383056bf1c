import BLESimulator
import BLEStreams
import Testing

/// A session on a link that another user holds for longer than the session's steps may take.
@Suite(.timeLimit(.minutes(10))) struct SessionBesideFlowTests {
    /// Runs the body with a second session while a command of the first one holds the link.
    ///
    /// - Parameter knows: whether the services are known by then.
    private func besideCommand(
        knows: Bool,
        _ bench: Bench,
        _ plan: Session.Plan,
        _ body: @escaping @Sendable (Session, CommandQueue.Handle<Void>) async throws -> Void
    ) async throws {
        var holding = Session.Plan(bench.peripheral)
        holding.discovers = knows
        try await bench.central.withSession(holding) { holder in
            try await holder.ready()
            let command = holder.queue.enqueue(
                CommandBlock("long") { _ in try await bench.time.sleep(for: .seconds(100)) }
            )
            try await bench.time.sleep(for: .seconds(1))
            try await bench.central.withSession(plan) { try await body($0, command) }
            try await command.value
        }
    }

    @Test(arguments: [false, true])
    func `a session beside another one's long command is ready once that has ended`(knows: Bool) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            plan.reconnecting = nil
            try await besideCommand(knows: knows, bench, plan) { session, command in
                try await session.ready()
                #expect(bench.time.now >= .seconds(100))
                try await command.value
                _ = try await session.notifications(of: Bench.notifying).first()
                #expect(session.state.isReady)
            }
        }
    }

    @Test func `a stream of a session beside another one's long command waits for it, and is not refused`()
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            var plan = Session.Plan(bench.peripheral)
            plan.reconnecting = nil
            try await besideCommand(knows: true, bench, plan) { session, command in
                _ = try await session.notifications(of: Bench.notifying).first()
                #expect(bench.time.now >= .seconds(100) && session.state.isReady)
                try await command.value
            }
        }
    }

    @Test(arguments: [false, true])
    func `a step that has waited for another one's command still has its limit`(knows: Bool) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            plan.reconnecting = nil
            (plan.limits.discover, plan.limits.subscribe) = (.seconds(5), .seconds(5))
            try await besideCommand(knows: knows, bench, plan) { session, command in
                // The command itself asks nothing.
                bench.air.faults.add(.delay(.responses, by: .seconds(16)))
                let error = await bleError { try await session.ready() }
                #expect(error?.code == .timedOut && error?.operation == (knows ? "subscribe" : "discovery"))
                #expect(command.state.description.hasPrefix("running") == false)
                bench.air.faults.removeAll()
            }
        }
    }
}
