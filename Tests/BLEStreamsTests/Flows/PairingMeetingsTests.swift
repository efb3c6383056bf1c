import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// A pairing flow, and what else the program has with the device: a link, a session, pairing on demand, demands.
@Suite(.timeLimit(.minutes(10))) struct PairingMeetingsTests {
    private typealias Vault = SecurityOnDemandTests

    private static func pair(_ peripheral: Peripheral, by flow: PairingFlow) async throws -> PairingFlow.Outcome {
        try await peripheral.withQueue { queue in try await queue.run(flow) }
    }

    @Test func `a device that has a link, and so doesn't advertise, need not be found`() async throws {
        try await Vault.withVault { bench in
            let flow = PairingFlow(reading: Vault.secret, limit: .seconds(20))
            try await bench.peripheral.withLink { _ in
                let outcome = try await Self.pair(bench.peripheral, by: flow)
                #expect(outcome.wasPaired)
            }
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                let error = await bleError { _ = try await Self.pair(bench.peripheral, by: flow) }
                #expect(error?.code == .busy && error?.remedy.contains("session.queue") == true, "\(error as Any)")
                let outcome = try await session.queue.run(flow)
                #expect(!outcome.wasPaired)
            }
        }
    }

    @Test func `the flow alone pairs, in its own way, where pairing on demand is allowed too`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let (person, phases) = (Vault.Person(), Recorder<String>())
            bench.peripheral.allowPairing(person.answers())
            let outcome = try await bench.peripheral.withQueue { queue in
                let flow = PairingFlow(reading: Vault.secret) { link in
                    try await link.secure(to: .authenticated, answers: .passkey(Vault.passkey))
                }
                return try await queue.connecting().run(flow, replacing: .activeFlow) { phases.add($0.phase) }
            }
            #expect(outcome.wasPaired && outcome.security.isAuthenticated && person.asked == 0)
            #expect(phases.all == ["connect", "provoke", "pair", "verify", "remember"])
        }
    }

    @Test func `a pairing that doesn't suffice is told, and not made up for where pairing on demand is allowed`()
        async throws
    {
        try await Vault.withVault { bench in
            let person = Vault.Person()
            bench.peripheral.allowPairing(person.answers())
            let flow = PairingFlow(
                reading: Vault.guarded,
                pair: { link in
                    try await link.pair()
                    // From now on it would take a passkey.
                    bench.peripheralAdapter.settings.pairing = .showsPasskey(Vault.passkey)
                }
            )
            let error = await bleError { _ = try await Self.pair(bench.peripheral, by: flow) }
            #expect(error?.code == .attributeError && person.asked == 0, "\(error as Any)")
        }
    }

    @Test func `who says nothing of how to pair means the answers that are set`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            let person = Vault.Person()
            bench.peripheral.allowPairing(person.answers())
            let outcome = try await Self.pair(bench.peripheral, by: PairingFlow(reading: Vault.secret))
            #expect(outcome.wasPaired && outcome.security.isAuthenticated && person.asked == 1)
        }
    }

    @Test func `a demand of the program that has paired on the way counts`() async throws {
        try await Vault.withVault(manner: .showsPasskey(Vault.passkey)) { bench in
            bench.peripheral.allowPairing(.passkey(Vault.passkey))
            bench.peripheral.secure(Vault.secret, to: .authenticated)
            let flow = PairingFlow(reading: Vault.secret)
            let first = try await Self.pair(bench.peripheral, by: flow)
            #expect(first.wasPaired && first.security.isAuthenticated)
            let again = try await Self.pair(bench.peripheral, by: flow)
            #expect(!again.wasPaired)
        }
    }

    @Test(arguments: [false, true])
    func `a device whose bond doesn't suffice for the characteristic is paired with anew, with the flow's answers`(
        areSet: Bool
    ) async throws {
        try await Vault.withVault { bench in
            try await bench.peripheral.withLink { try await $0.pair() }
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Vault.passkey)
            let answers = PairingAnswers.passkey(Vault.passkey)
            if areSet { bench.peripheral.allowPairing(answers) }
            let flow =
                areSet ? PairingFlow(reading: Vault.guarded) : PairingFlow(reading: Vault.guarded, answers: answers)
            let outcome = try await Self.pair(bench.peripheral, by: flow)
            #expect(outcome.wasPaired && outcome.security.isAuthenticated && outcome.value.bytes == [43])
            #expect(bench.peripheral.bond?.isAuthenticated == true)
        }
    }
}
