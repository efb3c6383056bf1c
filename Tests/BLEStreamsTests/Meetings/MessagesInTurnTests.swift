import Testing

/// `STREAM_SEEDS=1000 swift test --filter InTurnTests` runs as many seeds of each kind as are wanted.
@Suite(.timeLimit(.minutes(30))) struct MessagesInTurnTests {
    @Test(arguments: MessagesInTurn.Condition.allCases)
    func `messages to centrals are whole and in order for consumers that take turns`(
        condition: MessagesInTurn.Condition
    ) async throws {
        for seed in 1...StreamsInTurnTests.seeds {
            let found = try await MessagesInTurn.run(seed: seed, condition) { world, server in
                try await world.sendToAll(server)
            } _: { world, member in
                try await world.follow(member)
            }
            #expect(found.isEmpty, "seed \(seed): \(found.count), \(found.prefix(3))")
        }
    }

    @Test(arguments: MessagesInTurn.Condition.allCases)
    func `messages to a peripheral are whole and in order, and those that it accepts are not lost`(
        condition: MessagesInTurn.Condition
    ) async throws {
        for seed in 1...StreamsInTurnTests.seeds {
            let found = try await MessagesInTurn.run(seed: seed, condition) { world, server in
                try await world.takeAll(server)
            } _: { world, member in
                try await world.sendWishes(member)
            }
            #expect(found.isEmpty, "seed \(seed): \(found.count), \(found.prefix(3))")
        }
    }
}
