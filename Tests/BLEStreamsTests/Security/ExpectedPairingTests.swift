import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// What a radio is told in front of a link to a bonded peripheral whose keys may not suffice: Linux pairs anew with the
/// capability that the adapter had when the link was made.
@Suite(.timeLimit(.minutes(10))) struct ExpectedPairingTests {
    /// Claims what it is told, as Linux does: on the next link alone.
    private final class ClaimingRadio: RelayingRadio {
        let radio: SimulatedAdapter
        /// What was claimed with each request for a link.
        let claims = Recorder<PairingCapability>()
        private let told = Mutex(PairingCapability.noInputNoOutput)

        init(_ radio: SimulatedAdapter) { self.radio = radio }

        func expectPairing(with peer: BluetoothAddress, as capability: PairingCapability) {
            told.withLock { $0 = capability }
        }

        func connect(
            to peer: BluetoothAddress,
            parameters: ConnectionParameters?,
            result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
        ) -> RadioActivity {
            claims.add(told.withLock { $0 })
            return radio.connect(to: peer, parameters: parameters) { [self] outcome in
                if case .success = outcome { told.withLock { $0 = .noInputNoOutput } }
                result(outcome)
            }
        }
    }

    private static let answers = PairingAnswers.passkey(SecurityOnDemandTests.passkey)

    /// Pairs without protection, and calls the body with the peripheral and what is claimed from then on.
    private static func withWeakBond(
        _ body: @escaping @Sendable (Bench, Peripheral, Recorder<PairingCapability>) async throws -> Void
    ) async throws {
        try await SecurityOnDemandTests.withVault { bench in
            let radio = ClaimingRadio(bench.centralAdapter)
            let central = try await Central.open(.radio(radio))
            let vault = central.peripheral(bench.peripheralAdapter.address)
            try await vault.withLink { try await $0.pair() }
            #expect(vault.bond?.isAuthenticated == false && radio.claims.all == [.noInputNoOutput])
            radio.claims.forget()
            try await body(bench, vault, radio.claims)
        }
    }

    @Test func `it is told of those who answer, and of nobody else`() async throws {
        try await Self.withWeakBond { _, vault, claims in
            try await vault.withLink { _ in }
            try await vault.withLink(pairing: PairingAnswers()) { _ in }
            try await vault.withLink(pairing: Self.answers) { _ in }
            try await vault.withLink { _ in }
            #expect(claims.all == [.noInputNoOutput, .noInputNoOutput, .keyboardOnly, .noInputNoOutput])
        }
    }

    /// HCI 0x3E, the commonest failure on air.
    @Test func `it is told again in front of each link that is made since the last one was not established`()
        async throws
    {
        try await Self.withWeakBond { bench, vault, claims in
            bench.air.faults.add(.neverEstablish().times(2))
            try await vault.withLink(pairing: Self.answers) { _ in }
            #expect(claims.all == [.keyboardOnly, .keyboardOnly, .keyboardOnly])
        }
    }

    /// By a caller of its own, or for all; and by another one than before.
    @Test(arguments: [false, true], [.noInputNoOutput, .displayYesNo] as [PairingCapability])
    func `it is told anew of who comes to answer while the link is being made`(
        isCaller: Bool,
        former: PairingCapability
    ) async throws {
        try await Self.withWeakBond { bench, vault, claims in
            if former == .displayYesNo { vault.allowPairing(PairingAnswers(compares: { _ in true })) }
            bench.air.faults.add(.outOfRange(lasting: .seconds(10)))
            async let value = vault.withLink { try await $0.read(SecurityOnDemandTests.open) }
            try await bench.time.sleep(for: .seconds(5))
            #expect(claims.all == [former])
            if isCaller {
                try await vault.withLink(pairing: Self.answers) { _ in }
            } else {
                vault.allowPairing(Self.answers)
            }
            #expect(try await value.bytes == [44])
            #expect(claims.all == [former, .keyboardOnly])
        }
    }

    /// Since its time is over, or since it is cancelled.
    @Test(arguments: [Duration.seconds(4), .seconds(60)])
    func `it is told anew when who would have answered waits no longer`(timeout: Duration) async throws {
        try await Self.withWeakBond { bench, vault, claims in
            bench.air.faults.add(.outOfRange(lasting: .seconds(10)))
            async let value = vault.withLink { try await $0.read(SecurityOnDemandTests.open) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await vault.withLink(timeout: timeout, pairing: Self.answers) { _ in } }
                try await bench.time.sleep(for: .seconds(5))
                group.cancelAll()
            }
            #expect(try await value.bytes == [44])
            #expect(claims.all.last == .noInputNoOutput && claims.all.contains(.keyboardOnly), "\(claims.all)")
        }
    }

    @Test func `it is told anew when the program takes back who answers`() async throws {
        try await Self.withWeakBond { bench, vault, claims in
            vault.allowPairing(Self.answers)
            bench.air.faults.add(.outOfRange(lasting: .seconds(10)))
            async let value = vault.withLink { try await $0.read(SecurityOnDemandTests.open) }
            try await bench.time.sleep(for: .seconds(5))
            vault.allowPairing(nil)
            #expect(try await value.bytes == [44])
            #expect(claims.all == [.keyboardOnly, .noInputNoOutput])
        }
    }

    @Test func `what was told in vain is not claimed on a later link of others`() async throws {
        try await Self.withWeakBond { bench, vault, claims in
            bench.air.faults.add(.outOfRange(lasting: .seconds(10)))
            let error = await bleError {
                try await vault.withLink(timeout: .seconds(5), pairing: Self.answers) { _ in }
            }
            #expect(error?.code == .timedOut)
            try await vault.withLink { _ in }
            #expect(claims.all == [.keyboardOnly, .noInputNoOutput])
        }
    }
}
