import BLEProtocol
import BLERadio
import BLESimulator
import Synchronization
import Testing

@testable import BLEStreams

/// Pairings that a central begins, answered by the program of the peripheral: both programs on one air.
@Suite(.timeLimit(.minutes(10))) struct PairingReceptionTests {
    private static let secret = BluetoothUUID(0xB001)

    private static func description(
        _ pairing: PairingAnswers?,
        access: AccessRequirement = .encrypted
    ) -> LocalPeripheral {
        LocalPeripheral(name: "Lock", pairing: pairing) {
            LocalService(BluetoothUUID(0xB000)) {
                LocalCharacteristic(secret, [.read], value: .stored([42]), access: access)
            }
        }
    }

    /// What one of the two was shown, for the other one to type.
    private final class Screen: Sendable {
        private let shown: AsyncStream<UInt32>
        private let show: AsyncStream<UInt32>.Continuation

        init() { (shown, show) = AsyncStream.makeStream() }

        var displays: @Sendable (UInt32, Int) async -> Void { { [show] passkey, _ in show.yield(passkey) } }

        func read() async -> UInt32? {
            for await passkey in shown { return passkey }
            return nil
        }
    }

    private struct Outcome {
        var error: BLEError?
        var bond: Bond?
        /// What the peripheral was told.
        var failure: BLEError?
        var security: LinkSecurity
        var end: Duration
    }

    /// Has a central pair with a peripheral.
    private func pair(
        _ answers: PairingAnswers?,
        _ centralAnswers: PairingAnswers = PairingAnswers(),
        access: AccessRequirement = .encrypted
    ) async throws -> Outcome {
        let result = Mutex<Outcome?>(nil)
        let told = Mutex<(bond: Bond?, failure: BLEError?)>((nil, nil))
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            for try await event in server.centralEvents {
                switch event {
                case .paired(_, let bond): told.withLock { $0.bond = bond }
                case .pairingFailed(_, let error): told.withLock { $0.failure = error }
                case .connected, .disconnected: break
                }
            }
        }
        try await Bench.run(description: Self.description(answers, access: access), serve: serve) { bench in
            try await bench.peripheral.withLink { link in
                let refusal = await #expect(throws: BLEError.self) { try await link.read(Self.secret) }
                #expect(refusal?.attError == .insufficientAuthentication)
                var error: BLEError?
                do { try await link.pair(answers: centralAnswers) } catch let failure as BLEError { error = failure }
                let (end, security) = (bench.time.now, link.security)
                if error == nil, !access.needsAuthentication || security.isAuthenticated {
                    #expect(try await link.read(Self.secret).bytes == [42])
                }
                try await bench.time.sleep(for: .seconds(1))
                let (bond, failure) = told.withLock { $0 }
                result.withLock {
                    $0 = Outcome(error: error, bond: bond, failure: failure, security: security, end: end)
                }
            }
        }
        return try #require(result.withLock { $0 })
    }

    private func expectAuthenticated(_ answers: PairingAnswers, _ centralAnswers: PairingAnswers) async throws {
        let outcome = try await pair(answers, centralAnswers, access: .authenticated)
        #expect(outcome.error == nil && outcome.failure == nil && outcome.security.isAuthenticated)
        #expect(outcome.bond?.isAuthenticated == true)
    }

    private func expectFailure(
        _ answers: PairingAnswers?,
        _ centralAnswers: PairingAnswers,
        here: PairingFailure,
        there: PairingFailure
    ) async throws {
        let outcome = try await pair(answers, centralAnswers)
        #expect(outcome.failure?.pairingFailure == here, "\(outcome.failure as Any)")
        #expect(outcome.error?.pairingFailure == there, "\(outcome.error as Any)")
        #expect(outcome.bond == nil && !outcome.security.isEncrypted)
    }

    @Test func `a peripheral without answers is paired with by just works, and opens what is encrypted`() async throws {
        let outcome = try await pair(PairingAnswers())
        #expect(outcome.error == nil && outcome.bond?.isAuthenticated == false && outcome.security.isEncrypted)
    }

    @Test func `just works doesn't open what is authenticated`() async throws {
        let outcome = try await pair(PairingAnswers(), access: .authenticated)
        #expect(outcome.error == nil && !outcome.security.isAuthenticated)
    }

    @Test func `a peripheral that shows a passkey, and a central that types it`() async throws {
        let screen = Screen()
        let types = PairingAnswers(passkey: { await screen.read() })
        try await expectAuthenticated(PairingAnswers(displays: screen.displays), types)
        let wrong = PairingAnswers(passkey: { await screen.read().map { ($0 + 1) % 1_000_000 } })
        try await expectFailure(
            PairingAnswers(displays: screen.displays),
            wrong,
            here: .wrongPasskey,
            there: .wrongPasskey
        )
    }

    @Test func `a central that shows a passkey, and somebody who types it at the peripheral`() async throws {
        let screen = Screen()
        let shows = PairingAnswers(displays: screen.displays)
        try await expectAuthenticated(PairingAnswers(passkey: { await screen.read() }), shows)
        try await expectFailure(
            PairingAnswers(passkey: { nil }),
            shows,
            here: .refused,
            there: .refusedByPeripheral
        )
    }

    @Test func `the same passkey is known to both`() async throws {
        try await expectAuthenticated(.passkey(624_813), .passkey(624_813))
        try await expectFailure(.passkey(624_813), .passkey(1), here: .wrongPasskey, there: .wrongPasskey)
    }

    @Test func `numbers are compared on both sides`() async throws {
        let (yes, no) = (PairingAnswers(compares: { _ in true }), PairingAnswers(compares: { _ in false }))
        try await expectAuthenticated(yes, yes)
        try await expectFailure(no, yes, here: .refused, there: .refusedByPeripheral)
        try await expectFailure(yes, no, here: .refusedByCentral, there: .refused)
    }

    @Test func `a peripheral that nobody may pair with says so`() async throws {
        try await expectFailure(nil, PairingAnswers(), here: .refused, there: .refusedByPeripheral)
    }

    @Test func `nobody at the peripheral is waited for beyond the limit, nor asked any more`() async throws {
        let wasCancelled = Mutex(false)
        let slow = PairingAnswers(
            compares: { _ in
                do { try await Task.sleep(for: .seconds(600)) } catch { wasCancelled.withLock { $0 = true } }
                return true
            },
            limit: .seconds(5)
        )
        let outcome = try await pair(slow, PairingAnswers(compares: { _ in true }))
        #expect(outcome.failure?.pairingFailure == .unanswered && outcome.end < .seconds(10))
        #expect(wasCancelled.withLock { $0 })
    }

    @Test func `just works replaces no bond that somebody made sure of`() async throws {
        let failures = Mutex<[PairingFailure?]>([])
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            for try await event in server.centralEvents {
                guard case .pairingFailed(_, let error) = event else { continue }
                failures.withLock { $0.append(error.pairingFailure) }
            }
        }
        try await Bench.run(description: Self.description(.passkey(624_813)), serve: serve) { bench in
            try await bench.peripheral.withLink { try await $0.pair(answers: .passkey(624_813)) }
            bench.centralAdapter.forgetBonds()
            try await bench.peripheral.unpair()
            try await bench.peripheral.withLink { link in
                let error = await #expect(throws: BLEError.self) { try await link.pair() }
                #expect(error?.pairingFailure == .refusedByPeripheral)
                try await bench.time.sleep(for: .seconds(1))
            }
        }
        #expect(failures.withLock { $0 } == [.wouldWeakenBond])
    }

    @Test func `the bond is kept, and given to the adapter when the peripheral is served again`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            let store = PeerStore.inMemory()
            let central = try await Central.open(.radio(near), store: .inMemory())
            for round in 0..<2 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await Self.description(PairingAnswers()).run(on: .radio(far), store: store) { server in
                            for try await _ in server.centralEvents {}
                        }
                    }
                    try await central.peripheral(far.address).withLink { link in
                        if round == 0 { try await link.pair() }
                        #expect(link.security.isEncrypted)
                        #expect(try await link.read(Self.secret).bytes == [42])
                    }
                    group.cancelAll()
                }
                #expect(store.peers() == [near.address])
                far.forgetBonds()
            }
        }
    }

    @Test func `a second reception on an adapter is refused`() async throws {
        try await Bench.run { bench in
            try await bench.time.sleep(for: .seconds(1))
            let events = Mutex<[String]>([])
            let second = bench.peripheralAdapter.receivePairings(.refused) { event in
                if case .ended(let error) = event { events.withLock { $0.append("\(error.code)") } }
            }
            try await bench.time.sleep(for: .seconds(1))
            #expect(events.withLock { $0 } == ["busy"])
            second.cancel()
        }
    }

    @Test func `a radio that answers no pairings any more is told once, and the peripheral is served on`() async throws
    {
        try await VirtualTime.run { time in
            let puppet = PuppetRadio(SimulatedAir(time).adapter(name: "hci7"))
            let warnings = Recorder<BLEError>()
            let failure = BLEError(
                .systemFailure,
                operation: "receive pairings",
                object: "on hci7",
                cause: "test",
                remedy: "Test."
            )
            let wasServed: Bool = try await Self.description(PairingAnswers()).run(
                on: puppet,
                warning: { warnings.add($0) }
            ) {
                _ in
                puppet.tellPairingReceiver(.ended(failure))
                try await time.sleep(for: .seconds(10))
                return true
            }
            #expect(wasServed && warnings.all.count == 1)
            let warning = try #require(warnings.all.first)
            #expect(warning.code == .systemFailure && warning.object == "on hci7" && warning.cause.contains("test"))
            #expect(warning.remedy.hasPrefix("Test. ") && warning.remedy.contains("LocalPeripheral.run"))
        }
    }

    @Test func `an attempt to weaken a bond is told, though the central has failed to pair before`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (puppet, central) = (PuppetRadio(air.adapter(name: "hci7")), air.adapter().address)
            let warnings = Recorder<BLEError>()
            let reasons: [PairingFailure] = [.refusedByCentral, .refusedByCentral, .wouldWeakenBond]
            try await Self.description(PairingAnswers()).run(on: puppet, warning: { warnings.add($0) }) { _ in
                for reason in reasons {
                    puppet.tellPairingReceiver(.failed(central, .pairingFailed(by: central, reason)))
                }
                try await time.sleep(for: .seconds(1))
            }
            #expect(warnings.all.map(\.pairingFailure) == [.refusedByCentral, .wouldWeakenBond])
        }
    }

    @Test func `the bonds are restored once a bluetoothd that has begun has set its own keys`() async throws {
        try await VirtualTime.run { time in
            let puppet = PuppetRadio(SimulatedAir(time).adapter(name: "hci7"))
            let description = Self.description(PairingAnswers())
            try await description.run(on: .radio(puppet), store: .inMemory(), warning: { _ in }) { _ in
                #expect(puppet.restorations == 1)
                puppet.tellPairingReceiver(.started)
                for _ in 0..<1000 where puppet.restorations < 2 { try await time.sleep(for: .milliseconds(100)) }
                #expect(puppet.restorations == 2)
            }
        }
    }

    @Test func `a server that begins anew before that restores the bonds only then`() async throws {
        let failure = BLEError(.busy, operation: "serve", object: "on hci7", cause: "test", remedy: "Test.")
        try await VirtualTime.run { time in
            let puppet = PuppetRadio(SimulatedAir(time).adapter(name: "hci7"))
            var description = Self.description(PairingAnswers())
            description.resuming = .exponential(from: .seconds(1), to: .seconds(1), jitter: 0)
            try await description.run(on: .radio(puppet), store: .inMemory(), warning: { _ in }) { _ in
                puppet.tellPairingReceiver(.started)
                puppet.tellListener(.failed(failure))
                try await time.sleep(for: .seconds(60))
                #expect(puppet.restorations == 2)
            }
        }
    }

    /// What takes the reception away while somebody is asked.
    enum Loss: CaseIterable { case ofPairings, ofListening }

    @Test(arguments: Loss.allCases)
    func `nobody is asked any more once the reception has ended in the middle of a pairing`(loss: Loss) async throws {
        let failure = BLEError(.busy, operation: "serve", object: "on hci7", cause: "test", remedy: "Test.")
        let (isAsked, isWithdrawn) = (Flag(), Flag())
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let far = air.adapter(name: "hci7")
            let puppet = PuppetRadio(far)
            let device = try await Central.open(.radio(air.adapter()), store: .inMemory()).peripheral(far.address)
            let slow = PairingAnswers(compares: { _ in
                isAsked.set()
                do { try await time.sleep(for: .seconds(600)) } catch { isWithdrawn.set() }
                return false
            })
            var description = Self.description(slow)
            // Keeps the links of an interruption; the next reception begins behind the end of this test.
            description.resuming = .exponential(from: .seconds(60), to: .seconds(60), jitter: 0)
            try await withThrowingTaskGroup(of: Void.self) { [description] group in
                group.addTask {
                    // The link is up until the peripheral is no longer served: the pairing doesn't end by itself.
                    let agrees = PairingAnswers(compares: { _ in true })
                    _ = await bleError { try await device.withLink { try await $0.pair(answers: agrees) } }
                }
                try await description.run(on: puppet, warning: { _ in }) { server in
                    while !isAsked.isSet { try await time.sleep(for: .milliseconds(10)) }
                    switch loss {
                    case .ofPairings: puppet.tellPairingReceiver(.ended(failure))
                    case .ofListening: puppet.tellListener(.failed(failure))
                    }
                    try await time.sleep(for: .milliseconds(1))
                    #expect(isWithdrawn.isSet && server.centrals.count == 1)
                }
                try await group.waitForAll()
            }
        }
    }
}
