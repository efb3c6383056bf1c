import BLESimulator
import BLEStreams
import Testing

/// A person who is asked for a passkey, and has the program end everything instead.
@Suite(.timeLimit(.minutes(10))) struct DecliningPersonTests {
    private typealias Vault = SecurityOnDemandTests

    @Test(arguments: [false, true])
    func `the session ends, with whatever has led to the question`(isRemoved: Bool) async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let asked = Recorder<Void>()
            try await bench.central.withFleet { fleet in
                let session = fleet.add(Session.Plan(bench.peripheral))
                let answers = PairingAnswers(passkey: {
                    asked.add(())
                    if isRemoved { await fleet.remove(session) } else { await session.disconnect() }
                    return nil
                })
                bench.peripheral.allowPairing(answers)
                defer { bench.peripheral.allowPairing(nil) }
                try await session.ready()
                _ = await bleError { _ = try await session.read(Vault.secret) }
                try await bench.time.sleep(for: .seconds(10))
                #expect(session.state.kind == .initial && fleet.sessions.isEmpty == isRemoved)
                #expect(bench.centralAdapter.activity.links.isEmpty && asked.all.count == 1)
            }
        }
    }

    @Test func `the link of a flow ends, and the flow with it`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let flow = CommandBlock<Void>("pair") { context in
                try await context.reconnect()
                let answers = PairingAnswers(passkey: {
                    try? await context.disconnect()
                    return nil
                })
                try await context.link.pair(answers: answers)
            }
            try await bench.peripheral.withQueue { queue in
                _ = await bleError { try await queue.run(flow) }
                #expect(bench.centralAdapter.activity.links.isEmpty)
                // The queue goes on.
                let value = try await queue.connecting().run(.read(Vault.open))
                #expect(value.bytes == [44])
            }
        }
    }
}
