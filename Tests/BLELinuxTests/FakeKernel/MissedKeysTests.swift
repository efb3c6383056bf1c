import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Pairings that this program has begun, whose question, keys or answer the management socket had no room for.
@Suite(.timeLimit(.minutes(10))) struct MissedKeysTests {
    private typealias Outcomes = FakeRun.Collector<Result<Bond?, BLEError>>
    private typealias Replies = FakeRun.Collector<PairingInterview.Reply>

    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }
    private var number: UInt16 { kernel.central }

    /// The parameters of the event that tells the key of a bond.
    private static let key: [UInt8] =
        [1] + ManagementAddress(.example).octets + [3, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)

    /// The same for the first of the two keys of a legacy pairing.
    private static let firstOfTwo = legacyKey(ofInitiator: true)

    private static func legacyKey(ofInitiator isFirst: Bool) -> [UInt8] {
        let kind: [UInt8] = [1, isFirst ? 1 : 0, 16]
        return [1] + ManagementAddress(.example).octets + kind + [UInt8](repeating: 0, count: 10) + Array(1...16)
    }

    /// Begins a pairing that the kernel carries on.
    private func pair(
        _ radio: LinuxRadio,
        _ pairing: FakePeer.Pairing,
        _ outcomes: Outcomes,
        _ replies: Replies = Replies(),
        outOfBand: OutOfBandData? = nil
    ) async -> RadioActivity {
        kernel.with { $0.peers[.example]?.pairing = pairing }
        let interview = PairingInterview(.displayYesNo, outOfBand: outOfBand) { _, reply in replies.add(reply) }
        let activity = radio.pair(with: .example, asking: interview) { outcomes.add($0) }
        await kernel.idle()
        #expect(outcomes.all.isEmpty)
        return activity
    }

    /// Tells that the pairing is over, of which the program misses the key, the answer or both.
    private func succeed(missesKey: Bool, missesAnswer: Bool, key: [UInt8] = key) async {
        kernel.with { [number] state in
            let socket = state.adapters[number]?.pairing?.socket
            state.adapters[number]?.endPairing(with: ManagementAddress(.example))
            state.peers[.example]?.isBonded = true
            let tellKey: (inout FakeState) -> Void = { $0.tell(number, 0x0A, key) }
            let answer: (inout FakeState) -> Void = { state in
                guard let socket else { return }
                state.answer(socket, number, 0x19, .success, ManagementAddress(.example).octets)
            }
            if missesKey { state.unheard(tellKey) } else { tellKey(&state) }
            if missesAnswer { state.unheard(answer) } else { answer(&state) }
            state.tellOfDevice(number)
        }
        await kernel.idle()
    }

    private func bond(in outcomes: Outcomes) -> Bond? {
        if case .success(let bond?)? = outcomes.all.first { bond } else { nil }
    }

    private func failure(in outcomes: Outcomes) -> BLEError? {
        if case .failure(let error)? = outcomes.all.first { error } else { nil }
    }

    /// Checks that the keys whose report was lost are gone, and that the error says so and asks for another try.
    private func expectKeysRemoved(_ outcomes: Outcomes) throws {
        let error = try #require(failure(in: outcomes))
        #expect(error.code == .securityFailed && !error.isFinal)
        #expect(error.cause.contains("keys was lost") && !error.remedy.isEmpty)
        let isBonded = kernel.with { $0.peers[.example]?.isBonded }
        #expect(isBonded == false)
    }

    /// Pairs once more, without anything in the way.
    private func expectBond(_ radio: LinuxRadio) async throws {
        kernel.with { $0.peers[.example]?.pairing = .justWorks }
        let bond = try await run.result("pairing") { radio.pair(with: .example, asking: .justWorks, result: $0) }
        #expect(bond?.peer == .example)
    }

    @Test func `keys whose report was lost are removed, and the error says so and that it is worth another try`()
        async throws
    {
        let radio = try run.radio()
        let outcomes = Outcomes()
        let pairing = await pair(radio, .comparison(1), outcomes)
        await succeed(missesKey: true, missesAnswer: false)
        try expectKeysRemoved(outcomes)
        pairing.cancel()
        try await expectBond(radio)
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    /// - Parameter isAlone: otherwise the kernel would only cancel another program's.
    @Test(arguments: [true, false])
    func `a pairing whose question may be lost is ended at once, not by the limit of the other device`(
        _ isAlone: Bool
    ) async throws {
        let (radio, number) = (try run.radio(), number)
        let outcomes = Outcomes()
        kernel.with { $0.adapters[number]?.hasOlderPairing = !isAlone }
        let pairing = await pair(radio, .goesOn, outcomes)
        await kernel.lose(on: number) { $0.tell(number, 0x0F, ManagementAddress(.example).octets + [0, 1, 0, 0, 0]) }
        let error = try #require(failure(in: outcomes))
        #expect(error.code == .securityFailed && !error.isFinal)
        #expect(error.cause.contains("question") && error.cause.contains("the pairing was ended"))
        #expect(error.remedy.hasPrefix("Pair again"))
        let isPairing = kernel.with { $0.adapters[number]?.pairing != nil }
        #expect(!isPairing)
        pairing.cancel()
        try await expectBond(radio)
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `one that the program gives up is ended also while the kernel would only cancel another program's`()
        async throws
    {
        let (radio, number) = (try run.radio(), number)
        let outcomes = Outcomes()
        kernel.with { $0.adapters[number]?.hasOlderPairing = true }
        let pairing = await pair(radio, .goesOn, outcomes)
        pairing.cancel()
        await kernel.idle()
        let isPairing = kernel.with { $0.adapters[number]?.pairing != nil }
        #expect(!isPairing && outcomes.all.isEmpty)
        try await expectBond(radio)
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a pairing whose question is known goes on behind a loss of other events`() async throws {
        let (radio, number) = (try run.radio(), number)
        let (outcomes, replies) = (Outcomes(), Replies())
        let pairing = await pair(radio, .comparison(1), outcomes, replies)
        await kernel.lose(on: number) { $0.tellOfDevice(number) }
        #expect(outcomes.all.isEmpty && replies.all.count == 1)
        for reply in replies.all { reply(.accept) }
        await kernel.idle()
        #expect(bond(in: outcomes)?.peer == .example)
        _ = await kernel.run(run.timeline, within: .seconds(90)) { outcomes.all.count > 1 }
        #expect(outcomes.all.count == 1)
        pairing.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a pairing whose question comes immediately behind lost events goes on`() async throws {
        let (radio, number) = (try run.radio(), number)
        let (outcomes, replies) = (Outcomes(), Replies())
        let pairing = await pair(radio, .goesOn, outcomes, replies)
        kernel.with { state in
            state.unheard { $0.tellOfDevice(number) }
            state.tell(number, 0x0F, ManagementAddress(.example).octets + [0, 1, 0, 0, 0])
        }
        await kernel.idle()
        #expect(outcomes.all.isEmpty && replies.all.count == 1)
        for reply in replies.all { reply(.accept) }
        await kernel.idle()
        #expect(bond(in: outcomes)?.peer == .example)
        pairing.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a pairing with out-of-band data, which has no question, goes on behind a loss`() async throws {
        let (radio, number) = (try run.radio(), number)
        let outcomes = Outcomes()
        let octets: [UInt8] = [17, 0x22] + Array(1...16) + [17, 0x23] + Array(17...32)
        let data = try #require(OutOfBandData(octets: octets))
        let pairing = await pair(radio, .goesOn, outcomes, outOfBand: data)
        await kernel.lose(on: number) { $0.tellOfDevice(number) }
        #expect(outcomes.all.isEmpty)
        await succeed(missesKey: false, missesAnswer: false)
        #expect(bond(in: outcomes)?.peer == .example)
        pairing.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a pairing whose answer was lost behind its keys has succeeded`() async throws {
        let radio = try run.radio()
        let outcomes = Outcomes()
        let pairing = await pair(radio, .comparison(1), outcomes)
        await succeed(missesKey: false, missesAnswer: true)
        #expect(bond(in: outcomes)?.peer == .example)
        pairing.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a pairing whose second key and answer were lost leaves no half of a bond`() async throws {
        let (radio, number) = (try run.radio(), number)
        let outcomes = Outcomes()
        let pairing = await pair(radio, .comparison(1), outcomes)
        kernel.with { $0.tell(number, 0x0A, Self.firstOfTwo) }
        await succeed(missesKey: true, missesAnswer: true)
        try expectKeysRemoved(outcomes)
        pairing.cancel()
        try await expectBond(radio)
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    /// A loss in front of all keys, and the only key of a legacy pairing. The kernel tells the initiator's key first.
    @Test(arguments: [true, false])
    func `the only key of a legacy pairing is a bond, unless one may have been lost in front of it`(
        _ isInitiators: Bool
    ) async throws {
        let (radio, number) = (try run.radio(), number)
        let outcomes = Outcomes()
        let pairing = await pair(radio, .comparison(1), outcomes)
        await kernel.lose(on: number) { $0.tellOfDevice(number) }
        #expect(outcomes.all.isEmpty)
        await succeed(missesKey: false, missesAnswer: false, key: Self.legacyKey(ofInitiator: isInitiators))
        if isInitiators {
            #expect(bond(in: outcomes)?.encryptionKeys.count == 1)
        } else {
            try expectKeysRemoved(outcomes)
        }
        pairing.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a pairing whose keys and answer were lost fails in the time that one can take`() async throws {
        let radio = try run.radio()
        let outcomes = Outcomes()
        let pairing = await pair(radio, .comparison(1), outcomes)
        await succeed(missesKey: true, missesAnswer: true)
        #expect(outcomes.all.isEmpty)
        let isOver = await kernel.run(run.timeline, within: .seconds(90)) { !outcomes.all.isEmpty }
        #expect(isOver)
        let error = try #require(failure(in: outcomes))
        #expect(error.cause.contains("was lost") && error.remedy.contains("Peripheral.unpair()"))
        // The kernel has the bond, so that pairing again would find it made.
        #expect(error.remedy.hasPrefix("Remove the bond"))
        pairing.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `keys that are lost while the program gives the pairing up are removed`() async throws {
        let (radio, number) = (try run.radio(), number)
        let outcomes = Outcomes()
        let pairing = await pair(radio, .comparison(1), outcomes)
        kernel.with { $0.adapters[number]?.silent = [0x1A] }
        pairing.cancel()
        await succeed(missesKey: true, missesAnswer: false)
        let isGone = await kernel.run(run.timeline, within: .seconds(90)) {
            kernel.with { $0.peers[.example]?.isBonded == false }
        }
        #expect(isGone && outcomes.all.isEmpty)
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
