import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Centrals that came or left while the management socket had no room for the kernel's events.
@Suite(.timeLimit(.minutes(10))) struct MissedCentralsTests {
    private typealias Events = FakeRun.Collector<PairingReceptionEvent>

    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }
    private var number: UInt16 { kernel.peripheral }

    private func pair(_ pairing: FakePeer.Pairing) async {
        kernel.with { state in
            state.peers[.example]?.pairing = pairing
            state.pair(ManagementAddress(.example), on: number, for: nil)
        }
        await kernel.idle()
    }

    @Test(arguments: [true, false])
    func `a central that has come unseen is answered, and its bond is told`(_ isAsked: Bool) async throws {
        let radio = try run.radio(number)
        let events = Events()
        let receiving = await run.receive(.accepting, on: radio, events)
        kernel.with { state in
            state.unheard { $0.makeLink(of: number, isCentral: false) }
            state.tellOfDevice(number)
        }
        await kernel.idle()
        await pair(isAsked ? .comparison(123_456) : .justWorks)
        #expect(events.bonds == [.example])
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a device that this machine has connected to unseen is no central`() async throws {
        let radio = try run.radio(number)
        let events = Events()
        let receiving = await run.receive(.accepting, on: radio, events)
        kernel.with { state in
            state.unheard { $0.makeLink(of: number, isCentral: true) }
            state.tellOfDevice(number)
        }
        await kernel.idle()
        await pair(.justWorks)
        #expect(events.bonds.isEmpty)
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    /// The central's link is made.
    private func connect() { kernel.with { $0.makeLink(of: number, isCentral: false) } }

    @Test func `a central that pairs again is answered though the end of its first pairing was missed`() async throws {
        let radio = try run.radio(number)
        let (events, questions) = (Events(), FakeRun.Collector<PairingQuestion>())
        let interview = PairingInterview(.keyboardOnly) { question, reply in
            questions.add(question)
            // Nobody is there the first time.
            if questions.all.count > 1 { reply(.passkey(123_456)) }
        }
        let receiving = await run.receive(interview, on: radio, events)
        connect()
        await pair(.passkey)
        #expect(questions.all == [.passkey])
        let (adapter, status) = (number, ManagementStatus.authenticationFailed.rawValue)
        await kernel.lose(on: number) { $0.tell(adapter, 0x11, ManagementAddress(.example).octets + [status]) }
        // It may go on.
        #expect(events.failures.isEmpty)
        await pair(.passkey)
        #expect(questions.all == [.passkey, .passkey])
        let failures = events.failures
        #expect(failures.count == 1 && failures.first?.cause.contains("was lost") == true)
        #expect(failures.first?.remedy.isEmpty == false && events.bonds == [.example])
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a passkey that is shown again behind a loss is of the same pairing, and another one is not`()
        async throws
    {
        let radio = try run.radio(number)
        let (events, questions) = (Events(), FakeRun.Collector<PairingQuestion>())
        let receiving = await run.receive(
            PairingInterview(.displayOnly) { question, _ in questions.add(question) },
            on: radio,
            events
        )
        connect()
        let adapter = number
        let show: @Sendable (UInt32, UInt8) async -> Void = { [kernel] passkey, typed in
            kernel.with { state in
                state.tell(adapter, 0x17, ManagementAddress(.example).octets + FakeState.octets(passkey) + [typed])
            }
            await kernel.idle()
        }
        await show(123_456, 0)
        await kernel.lose(on: number) { $0.tellOfDevice(adapter) }
        await show(123_456, 1)
        #expect(questions.all == [.display(123_456, typed: 0), .display(123_456, typed: 1)])
        #expect(events.failures.isEmpty)
        await show(654_321, 0)
        #expect(questions.all.last == .display(654_321, typed: 0))
        #expect(events.failures.count == 1)
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a pairing that was agreed to may have succeeded where its keys were missed before the central left`()
        async throws
    {
        let radio = try run.radio(number)
        let events = Events()
        let interview = PairingInterview(.keyboardOnly) { _, reply in reply(.passkey(123_456)) }
        let receiving = await run.receive(interview, on: radio, events)
        connect()
        // The passkey's reply is on its way.
        kernel.with { $0.adapters[number]?.silent = [0x1E] }
        await pair(.passkey)
        let key: [UInt8] = [3, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)
        let adapter = number
        await kernel.lose(on: number) { $0.tell(adapter, 0x0A, [1] + ManagementAddress(.example).octets + key) }
        #expect(events.failures.isEmpty && events.bonds.isEmpty)
        kernel.with { state in
            guard let socket = state.link(of: number, with: .example)?.socket else { return }
            state.end(socket)
        }
        await kernel.idle()
        let failures = events.failures
        #expect(failures.count == 1 && failures.first?.pairingFailure == nil)
        #expect(failures.first?.cause.contains("was lost") == true && failures.first?.remedy.isEmpty == false)
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test(arguments: [false, true])
    func `a pairing whose central has left unseen has failed`(_ comesBack: Bool) async throws {
        let radio = try run.radio(number)
        let (events, questions) = (Events(), FakeRun.Collector<PairingQuestion>())
        let receiving = await run.receive(
            PairingInterview(.keyboardOnly) { question, _ in questions.add(question) },
            on: radio,
            events
        )
        connect()
        await pair(.passkey)
        #expect(questions.all == [.passkey])
        // Something else was missed: it is still there.
        let adapter = number
        await kernel.lose(on: number) { $0.tellOfDevice(adapter) }
        #expect(events.failures.isEmpty)
        kernel.with { state in
            guard let socket = state.link(of: number, with: .example)?.socket else { return }
            state.unheard { $0.end(socket) }
            if comesBack {
                state.makeLink(of: number, isCentral: false)
            } else {
                state.tellOfDevice(number)
            }
        }
        await kernel.idle()
        #expect(events.failures.map(\.pairingFailure) == [.refusedByCentral])
        if comesBack {
            await pair(.justWorks)
            #expect(events.bonds == [.example])
        }
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
