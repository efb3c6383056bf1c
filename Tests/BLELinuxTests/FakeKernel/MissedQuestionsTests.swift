import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Centrals that pair while the management socket has no room for the kernel's question.
@Suite(.timeLimit(.minutes(10))) struct MissedQuestionsTests {
    private typealias Events = FakeRun.Collector<PairingReceptionEvent>
    private typealias Questions = FakeRun.Collector<PairingQuestion>

    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }
    private var number: UInt16 { kernel.peripheral }

    /// Answers the questions of centrals from now on, and has one connect.
    private func receive(
        _ capability: PairingCapability,
        on radio: LinuxRadio,
        outOfBand: OutOfBandData? = nil,
        _ events: Events,
        _ questions: Questions
    ) async -> RadioActivity {
        let interview = PairingInterview(capability) { question, reply in
            questions.add(question)
            reply(question == .passkey ? .passkey(123_456) : .accept)
        }
        let receiving = await run.receive(interview, outOfBand: outOfBand, on: radio, events)
        kernel.with { $0.makeLink(of: number, isCentral: false) }
        await kernel.idle()
        return receiving
    }

    /// Has the central pair.
    private static func pair(_ state: inout FakeState, _ pairing: FakePeer.Pairing, on number: UInt16) {
        state.peers[.example]?.pairing = pairing
        state.pair(ManagementAddress(.example), on: number, for: nil)
    }

    @Test(arguments: [true, false])
    func `a pairing whose question was lost ends at once, and the central can pair again`(_ isPasskey: Bool)
        async throws
    {
        let (radio, number) = (try run.radio(number), number)
        let (events, questions) = (Events(), Questions())
        let receiving = await receive(isPasskey ? .keyboardOnly : .displayYesNo, on: radio, events, questions)
        await kernel.lose(on: number) { state in
            Self.pair(&state, isPasskey ? .passkey : .comparison(123_456), on: number)
        }
        let isPairing = kernel.with { $0.adapters[number]?.pairingPeers.isEmpty == false }
        #expect(!isPairing && questions.all.isEmpty)
        let failures = events.failures
        #expect(failures.count == 1 && failures.first?.code == .securityFailed && failures.first?.isFinal == false)
        #expect(failures.first?.pairingFailure == nil && failures.first?.cause.contains("question") == true)
        #expect(failures.first?.remedy.isEmpty == false)
        kernel.with { Self.pair(&$0, isPasskey ? .passkey : .comparison(123_456), on: number) }
        await kernel.idle()
        #expect(questions.all.count == 1 && events.bonds == [.example])
        #expect(events.failures.count == 1)
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a central that does not pair hears nothing of a loss, and its own refusal later is told as such`()
        async throws
    {
        let (radio, number) = (try run.radio(number), number)
        let (events, questions) = (Events(), Questions())
        let receiving = await receive(.keyboardOnly, on: radio, events, questions)
        await kernel.lose(on: number) { $0.tellOfDevice(number) }
        #expect(events.failures.isEmpty && events.bonds.isEmpty)
        kernel.with { Self.pair(&$0, .refuses, on: number) }
        await kernel.idle()
        #expect(events.failures.map(\.pairingFailure) == [.refusedByCentral])
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a question that comes immediately behind lost events is answered`() async throws {
        let (radio, number) = (try run.radio(number), number)
        let (events, questions) = (Events(), Questions())
        let receiving = await receive(.keyboardOnly, on: radio, events, questions)
        kernel.with { state in
            state.unheard { $0.tellOfDevice(number) }
            Self.pair(&state, .passkey, on: number)
        }
        await kernel.idle()
        #expect(questions.all == [.passkey] && events.bonds == [.example])
        #expect(events.failures.isEmpty)
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a pairing with out-of-band data, which has no question, goes on behind a loss`() async throws {
        let (radio, number) = (try run.radio(number), number)
        let (events, questions) = (Events(), Questions())
        let address: [UInt8] = [8, 0x1B] + BluetoothAddress.example.littleEndianOctets + [1]
        let octets: [UInt8] = address + [17, 0x22] + Array(1...16) + [17, 0x23] + Array(17...32)
        let data = try #require(OutOfBandData(octets: octets))
        #expect(data.address == .example)
        let receiving = await receive(.displayYesNo, on: radio, outOfBand: data, events, questions)
        kernel.with { Self.pair(&$0, .goesOn, on: number) }
        await kernel.lose(on: number) { $0.tellOfDevice(number) }
        let isPairing = kernel.with { $0.adapters[number]?.pairingPeers.isEmpty == false }
        #expect(isPairing && events.failures.isEmpty)
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
