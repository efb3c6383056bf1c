import BLESimulator
import BLEStreams
import Testing

/// Pairing with a device of which no more is known than how its name begins.
@Suite(.timeLimit(.minutes(10))) struct PairingByNameTests {
    private static let secret = BluetoothUUID(0xB001)

    private static let description = LocalPeripheral(name: "Thermo 4711") {
        LocalService(BluetoothUUID(0xB000)) {
            LocalCharacteristic(secret, [.read], value: .stored([42]), access: .encrypted)
        }
    }

    /// What is observed of one pairing.
    private struct Run: Sendable {
        var outcome: PairingFlow.Outcome?
        var error: BLEError?
        var phases: [String]
        var duration: Duration
    }

    private static func pair(
        _ bench: Bench,
        prefix: String = "Thermo",
        limit: Duration = .seconds(30),
        remember: @escaping @Sendable (Peripheral, PairingFlow.Outcome) async throws -> Void = { _, _ in }
    ) async throws -> Run {
        let phases = Recorder<String>()
        let begin = bench.time.now
        let flow = PairingFlow(reading: secret, limit: limit, remember: remember)
        var run = Run(phases: [], duration: .zero)
        do {
            run.outcome = try await bench.central.pair(with: .namePrefix(prefix), by: flow) { phases.add($0.phase) }
        } catch let error as BLEError {
            run.error = error
        }
        (run.phases, run.duration) = (phases.all, bench.time.now - begin)
        return run
    }

    @Test func `a device is found by how its name begins, paired with, verified and remembered, as one flow`()
        async throws
    {
        try await Bench.run(description: Self.description) { bench in
            let remembered = Recorder<Peripheral>()
            let run = try await Self.pair(bench) { peripheral, outcome in
                #expect(outcome.security.isEncrypted && Array(outcome.value) == [42])
                remembered.add(peripheral)
            }
            #expect(run.phases == ["find", "connect", "provoke", "pair", "verify", "remember"])
            #expect(run.outcome?.wasPaired == true && run.outcome?.peripheral == bench.peripheral)
            #expect(remembered.all == [bench.peripheral] && bench.peripheral.isBonded)
            // The link is down when it returns, and the next one is encrypted from the beginning.
            try await bench.peripheral.withLink { link in #expect(link.security.isEncrypted) }
            let again = try await Self.pair(bench)
            #expect(again.outcome?.wasPaired == false)
            #expect(again.phases == ["find", "connect", "provoke", "remember"])
        }
    }

    @Test func `the limit is one for all phases, and the error names the one that it met`() async throws {
        try await Bench.run(description: Self.description) { bench in
            let nobody = try await Self.pair(bench, prefix: "Nobody", limit: .seconds(7))
            #expect(nobody.error?.code == .timedOut && nobody.error?.cause.contains("'find'") == true)
            #expect(nobody.error?.object.contains("Nobody") == true && nobody.duration >= .seconds(7))

            let silent = bench.air.faults.add(.delayConnections(by: .seconds(100)))
            let unreachable = try await Self.pair(bench, limit: .seconds(7))
            #expect(
                unreachable.error?.cause.contains("'connect'") == true && unreachable.phases == ["find", "connect"]
            )
            #expect(unreachable.error?.object.contains("\(bench.peripheralAdapter.address)") == true)
            bench.air.faults.remove(silent)

            let mute = bench.air.faults.add(.swallow(.errorResponses))
            let unanswered = try await Self.pair(bench, limit: .seconds(7))
            #expect(unanswered.error?.cause.contains("'provoke'") == true)
            bench.air.faults.remove(mute)

            let forgetful = try await Self.pair(bench, limit: .seconds(7)) { _, _ in
                try await bench.time.sleep(for: .seconds(60))
            }
            #expect(forgetful.error?.cause.contains("'remember'") == true && forgetful.duration < .seconds(10))
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a device that refuses to pair is told as such, and its link is ended`() async throws {
        try await Bench.run(description: Self.description) { bench in
            bench.peripheralAdapter.settings.acceptsPairing = false
            let run = try await Self.pair(bench)
            #expect(run.error?.code == .securityFailed && run.phases.last == "pair")
            #expect(bench.centralAdapter.activity.isIdle && !bench.peripheral.isBonded)
        }
    }
}
