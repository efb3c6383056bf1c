import BLEProtocol
import BLERadio
import BLESimulator
import Synchronization
import Testing

@testable import BLEStreams

/// Pairing that asks a person, with peripherals that show, take and compare numbers.
@Suite(.timeLimit(.minutes(10))) struct PairingAnswersTests {
    private static let passkey: UInt32 = 624_813

    /// What came of a pairing.
    private struct Attempt {
        var error: BLEError?
        var bond: Bond?
        /// When it was over.
        var end = Duration.zero
    }

    /// Pairs with a peripheral of that manner.
    private func pair(
        _ manner: PairingManner,
        _ answers: @escaping @Sendable (Bench) -> PairingAnswers
    ) async throws -> Attempt {
        let attempt = Mutex(Attempt())
        try await Bench.run { bench in
            bench.peripheralAdapter.settings.pairing = manner
            try await bench.peripheral.withLink { link in
                var error: BLEError?
                do { try await link.pair(answers: answers(bench)) } catch let failure as BLEError { error = failure }
                let end = bench.time.now
                #expect(link.security.isEncrypted == (error == nil))
                attempt.withLock { $0 = Attempt(error: error, bond: bench.peripheral.bond, end: end) }
            }
        }
        let result = attempt.withLock { $0 }
        #expect((result.bond == nil) == (result.error != nil))
        if let error = result.error {
            #expect(error.code == .securityFailed && !error.remedy.isEmpty)
            #expect(!"\(error)".contains("\(Self.passkey)"))
        }
        return result
    }

    private func expectAuthenticated(_ manner: PairingManner, _ answers: PairingAnswers) async throws {
        let attempt = try await pair(manner) { _ in answers }
        #expect(attempt.error == nil && attempt.bond?.isAuthenticated == true)
    }

    private func expectFailure(
        _ manner: PairingManner,
        _ answers: PairingAnswers,
        _ failure: PairingFailure
    ) async throws {
        let attempt = try await pair(manner) { _ in answers }
        #expect(attempt.error?.pairingFailure == failure, "\(attempt.error as Any)")
    }

    @Test func `a passkey that is known is entered`() async throws {
        try await expectAuthenticated(.showsPasskey(Self.passkey), .passkey(Self.passkey))
        try await expectFailure(.showsPasskey(Self.passkey), .passkey(1), .wrongPasskey)
        try await expectFailure(.showsPasskey(Self.passkey), .passkey(1_000_000), .invalidPasskey)
    }

    @Test func `a person enters the passkey that the peripheral shows, or nothing`() async throws {
        let attempt = try await pair(.showsPasskey(Self.passkey)) { bench in
            PairingAnswers(passkey: {
                try? await bench.time.sleep(for: .seconds(20))
                return Self.passkey
            })
        }
        #expect(attempt.error == nil && attempt.end > .seconds(20))
        try await expectFailure(.showsPasskey(Self.passkey), PairingAnswers(passkey: { nil }), .refused)
    }

    @Test func `numbers are compared`() async throws {
        let agrees = PairingAnswers(compares: { number in number < 1_000_000 })
        try await expectAuthenticated(.comparesNumbers(), agrees)
        try await expectFailure(.comparesNumbers(agrees: false), agrees, .refusedByPeripheral)
        try await expectFailure(.comparesNumbers(), PairingAnswers(compares: { _ in false }), .refused)
    }

    @Test func `a passkey is shown, with the digits that have been typed`() async throws {
        let shown = Shown()
        let answers = PairingAnswers(displays: { passkey, typed in shown.add(passkey, typed) })
        try await expectAuthenticated(.entersPasskey(), answers)
        #expect(shown.all.map(\.typed) == Array(0...6))
        #expect(Set(shown.all.map(\.passkey)).count == 1)
        try await expectFailure(.entersPasskey(correctly: false), answers, .wrongPasskey)
    }

    private final class Shown: Sendable {
        private let entries = Mutex<[(passkey: UInt32, typed: Int)]>([])
        var all: [(passkey: UInt32, typed: Int)] { entries.withLock { $0 } }
        func add(_ passkey: UInt32, _ typed: Int) { entries.withLock { $0.append((passkey, typed)) } }
    }

    @Test func `who does not answer in time has refused, and is not waited for`() async throws {
        for manner in [PairingManner.showsPasskey(Self.passkey), .comparesNumbers()] {
            let attempt = try await pair(manner) { bench in
                PairingAnswers(
                    passkey: {
                        try? await bench.time.sleep(for: .seconds(600))
                        return nil
                    },
                    compares: { _ in
                        try? await bench.time.sleep(for: .seconds(600))
                        return true
                    },
                    displays: { _, _ in }
                )
            }
            #expect(attempt.error?.pairingFailure == .unanswered)
            #expect(attempt.end < .seconds(30))
        }
    }

    @Test func `who takes longer than the Security Manager waits has lost the link too`() async throws {
        try await Bench.run { bench in
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Self.passkey)
            try await bench.peripheral.withLink { link in
                let slow = PairingAnswers(
                    passkey: {
                        try? await bench.time.sleep(for: .seconds(40))
                        return Self.passkey
                    },
                    limit: .seconds(50)
                )
                let error = await bleError { try await link.pair(answers: slow) }
                #expect(error?.pairingFailure == .unanswered && bench.time.now < .seconds(32))
                try await bench.time.sleep(for: .seconds(1))
                let end = await bleError { _ = try await link.read(Bench.readable) }
                #expect(end?.code == .disconnected, "\(end as Any)")
            }
            // The next link may be paired.
            try await bench.peripheral.withLink { try await $0.pair(answers: .passkey(Self.passkey)) }
        }
    }

    @Test(arguments: [
        PairingManner.showsPasskey(passkey), .comparesNumbers(), .entersPasskey(),
    ])
    func `a peripheral that wants more than nothing is told from one that refuses`(manner: PairingManner) async throws {
        let attempt = try await pair(manner) { _ in PairingAnswers() }
        #expect(attempt.error?.pairingFailure == .needsAnswers)
        #expect(attempt.error?.remedy.contains("Link.pair(answers:)") == true)
    }

    @Test func `where the peripheral can do nothing it is Just Works, and nobody is asked`() async throws {
        let answers = PairingAnswers(passkey: { nil }, compares: { _ in false }, displays: { _, _ in })
        let attempt = try await pair(.justWorks) { _ in answers }
        #expect(attempt.error == nil && attempt.bond?.isAuthenticated == false)
    }

    @Test func `a display that can't show is a refusal`() async throws {
        try await expectFailure(.entersPasskey(), PairingAnswers(compares: { _ in true }), .needsAnswers)
    }

    @Test func `cancelling the pairing cancels the question, and pairing goes on afterwards`() async throws {
        try await Bench.run { bench in
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Self.passkey)
            let cancellations = Shown()
            try await bench.peripheral.withLink { link in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        let answers = PairingAnswers(passkey: {
                            do { try await bench.time.sleep(for: .seconds(20)) } catch {
                                cancellations.add(0, 0)
                            }
                            return nil
                        })
                        await #expect(throws: CancellationError.self) { try await link.pair(answers: answers) }
                    }
                    group.addTask { try await bench.time.sleep(for: .seconds(5)) }
                    try await group.next()
                    group.cancelAll()
                    try await group.waitForAll()
                }
                #expect(cancellations.all.count == 1)
                #expect(bench.time.now < .seconds(6))
                try await link.pair(answers: .passkey(Self.passkey))
                #expect(link.security.isAuthenticated)
            }
        }
    }

    @Test func `the bond of an authenticated pairing makes the next link authenticated too`() async throws {
        try await Bench.run { bench in
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Self.passkey)
            try await bench.peripheral.withLink { try await $0.pair(answers: .passkey(Self.passkey)) }
            try await bench.peripheral.withLink { link in #expect(link.security.isAuthenticated) }
        }
    }

    @Test func `a flow takes answers`() async throws {
        let secret = BluetoothUUID(0xB001)
        let description = LocalPeripheral(name: "Secret") {
            LocalService(BluetoothUUID(0xB000)) {
                LocalCharacteristic(secret, [.read], value: .stored([42]), access: .encrypted)
            }
        }
        try await Bench.run(description: description) { bench in
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Self.passkey)
            let flow = PairingFlow(reading: secret, answers: .passkey(Self.passkey))
            let outcome = try await bench.central.pair(with: .namePrefix("Secret"), by: flow)
            #expect(outcome.security.isAuthenticated && outcome.value.bytes == [42])
        }
    }

    @Test func `the capability follows from what is given`() {
        let (enters, compares) = ({ @Sendable () async -> UInt32? in nil }, { @Sendable (_: UInt32) async in true })
        let displays = { @Sendable (_: UInt32, _: Int) async in }
        #expect(PairingAnswers().capability == .noInputNoOutput)
        #expect(PairingAnswers(displays: displays).capability == .displayOnly)
        #expect(PairingAnswers(compares: compares).capability == .displayYesNo)
        #expect(PairingAnswers(compares: compares, displays: displays).capability == .displayYesNo)
        #expect(PairingAnswers(passkey: enters).capability == .keyboardOnly)
        #expect(PairingAnswers.passkey(1).capability == .keyboardOnly)
        #expect(PairingAnswers(passkey: enters, displays: displays).capability == .keyboardDisplay)
        #expect(PairingAnswers(passkey: enters, compares: compares, displays: displays).capability == .keyboardDisplay)
    }

    @Test func `numbers have six digits`() {
        #expect(PairingAnswers.digits(0) == "000000" && PairingAnswers.digits(1234) == "001234")
        #expect(PairingAnswers.digits(999_999) == "999999")
    }

    @Test func `no passkey shows where a value is printed, dumped or looked into`() {
        let number = Self.passkey
        let values: [Any] = [
            PairingAnswers.passkey(number), PairingQuestion.comparison(number), PairingManner.showsPasskey(number),
            PairingQuestion.display(number, typed: 3), PairingQuestion.Answer.passkey(number),
            AdapterSettings(pairing: .showsPasskey(number)),
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            let text = "\(value) \(String(reflecting: value)) \(dumped) \([value])"
            #expect(!text.contains("\(number)") && !text.contains("passkey: 6"), "\(type(of: value))")
        }
    }
}
