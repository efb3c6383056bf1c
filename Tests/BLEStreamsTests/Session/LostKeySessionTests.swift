import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// Sessions with a peripheral that has lost its keys, where only the adapter still has one: another program has paired,
/// and this one has no bond. What ends each link is the key.
@Suite(.timeLimit(.minutes(10))) struct LostKeySessionTests {
    private typealias Vault = SecurityOnDemandTests

    /// Calls the body with a central whose store has no bond with the peripheral.
    private static func withLostKey(
        _ body: @escaping @Sendable (Bench, Central, Peripheral) async throws -> Void
    ) async throws {
        try await Vault.withVault { bench in
            try await bench.peripheral.withLink { try await $0.pair() }
            bench.peripheralAdapter.forgetBonds()
            let central = try await Central.open(.radio(bench.centralAdapter), pairing: PairingAnswers())
            try await body(bench, central, central.peripheral(bench.peripheralAdapter.address))
        }
    }

    private static func expectRemedy(_ error: BLEError?, at location: SourceLocation = #_sourceLocation) {
        #expect(error?.code == .securityFailed, "\(error as Any)", sourceLocation: location)
        #expect(error?.cause.contains("no longer has the keys") == true, sourceLocation: location)
        #expect(error?.remedy.contains("unpair") == true, sourceLocation: location)
    }

    @Test func `a planned subscription fails the session with what to do`() async throws {
        try await Self.withLostKey { _, central, vault in
            try await central.withSession(Session.Plan(vault).subscribing(to: Vault.secret)) { session in
                let error = await bleError {
                    _ = try await session.notifications(of: Vault.secret).timeout(.seconds(600)).first()
                }
                Self.expectRemedy(error)
                guard case .failed(let failure) = session.state else {
                    Issue.record("\(session.state)")
                    return
                }
                #expect(failure.description == error?.description)
                try await vault.unpair()
                try session.reset()
                let value = try await session.notifications(of: Vault.secret).timeout(.seconds(600)).first()
                #expect(value.bytes == [7])
            }
        }
    }

    /// Begun before the session is ready, and later.
    @Test(arguments: [false, true])
    func `the stream of another subscription is told what to do, and the session goes on`(isLater: Bool) async throws {
        try await Self.withLostKey { _, central, vault in
            try await central.withSession(Session.Plan(vault)) { session in
                if isLater { try await session.ready() }
                let error = await bleError {
                    _ = try await session.notifications(of: Vault.secret).timeout(.seconds(600)).first()
                }
                Self.expectRemedy(error)
                let value = try await session.read(Vault.open, timeout: .seconds(60))
                #expect(value.bytes == [44] && session.state.isReady)
            }
        }
    }

    @Test func `a plan's level is told in the states, and when the attempts are used up`() async throws {
        try await Self.withLostKey { _, central, vault in
            var plan = Session.Plan(vault)
            plan.security = .encrypted
            plan.reconnecting = .exponential(attempts: 3)
            try await central.withSession(plan) { session in
                var told: [BLEError] = []
                for try await change in session.states {
                    if let error = change.cause?.error { told.append(error) }
                    guard case .failed(let failure) = change.state else { continue }
                    told.append(failure)
                    break
                }
                // Four attempts have failed; the last failure is told twice.
                #expect(told.count == 5)
                for error in told { Self.expectRemedy(error) }
            }
        }
    }
}
