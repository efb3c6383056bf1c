import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What goes on beside another program's link of Bluetooth Classic, on a kernel in memory whose adapters are in dual
/// mode.
@Suite(.timeLimit(.minutes(10))) struct ClassicLinkTests {
    /// A device in dual mode: its address is the same one on both.
    private static let device = BluetoothAddress(rawValue: 0x001A_7DDA_7111, kind: .public)

    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example)
            state.peers[ClassicLinkTests.device] = FakePeer(address: ClassicLinkTests.device)
            state.files["/proc/sys/kernel/random/boot_id"] = Array("this-boot\n".utf8)
            for number in state.adapters.keys.sorted() { state.adapters[number]?.settings.insert(.classic) }
        }
    )

    private var kernel: FakeKernel { run.kernel }
    private var forgotten: Int { kernel.with { $0.adapters[kernel.central]?.forgotten.count ?? 0 } }
    private var count: Int { kernel.with { $0.adapters[kernel.central]?.classicLinks.count ?? 0 } }

    /// The device makes a link of Bluetooth Classic; returns the handle.
    @discardableResult
    private func connect(to number: UInt16, handle: UInt16? = nil) -> UInt16 {
        kernel.with { $0.connectClassic(Self.device.rawValue, on: number, handle: handle) }
    }

    // MARK: - Lists

    @Test(arguments: [true, false])
    func `it is one of the adapter's links, and none of Low Energy`(_ isAdministrator: Bool) async throws {
        kernel.with { $0.isAdministrator = isAdministrator }
        let radio = try run.radio()
        #expect(!radio.isLinked)
        let handle = connect(to: kernel.central)
        #expect(radio.isLinked)
        #expect(!radio.hasLink(to: Self.device) && radio.adapter.peers.isEmpty && radio.adapter.attempts.isEmpty)
        kernel.with { $0.endClassic(handle, of: kernel.central) }
        #expect(!radio.isLinked)
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `its device is connected to anew over Low Energy, and it stays`() async throws {
        let radio = try run.radio()
        connect(to: kernel.central)
        let end = FakeRun.End(try await run.connect(radio, to: Self.device))
        #expect(!end.link.isResumed && radio.hasLink(to: Self.device))
        end.link.disconnect()
        #expect(try await end.end(in: run).kind == .closedLocally)
        await kernel.idle()
        #expect(count == 1 && radio.isLinked && !radio.hasLink(to: Self.device))
    }

    @Test func `its device is no central that is in the way of a link`() async throws {
        kernel.with { $0.adapters[kernel.central]?.combinesRoles = false }
        let radio = try run.radio()
        // It asks for the roles when it connects for the first time.
        try await run.exchange(radio, with: .example)
        connect(to: kernel.central)
        #expect(radio.excludedRoles.areKnown && radio.connectObstacle == nil)
        try await run.exchange(radio, with: .example)
        #expect(count == 1)
    }

    // MARK: - Forgotten links

    /// Begins to connect, and gives that up.
    private func connectInVain(_ radio: LinuxRadio) async {
        let attempt = radio.connect(to: .example) { _ in }
        await kernel.idle()
        attempt.cancel()
        await kernel.idle()
    }

    @Test func `a link that the kernel has forgotten is ended, and this one stays`() async throws {
        kernel.with { state in
            state.peers[.example]?.isHere = false
            state.forgetsLinks = true
        }
        let radio = try run.radio()
        connect(to: kernel.central)
        await connectInVain(radio)
        #expect(forgotten == 1)
        let isEnded = await kernel.run(run.timeline, within: .seconds(10)) { forgotten == 0 }
        #expect(isEnded && count == 1)
        withExtendedLifetime(radio) {}
    }

    @Test func `it is not ended for one of Low Energy that had its handle, and whose end was missed`() async throws {
        kernel.with { $0.peers[.example]?.isHere = false }
        let radio = try run.radio()
        await connectInVain(radio)
        let former = FakeLink(adapter: kernel.central, peer: .example, handle: 0x0EEE, isCentral: true, far: nil)
        kernel.with { $0.reportConnected(former) }
        connect(to: kernel.central, handle: former.handle)
        await connectInVain(radio)
        _ = await kernel.run(run.timeline, within: .seconds(10)) { false }
        #expect(kernel.with { $0.calls[.hciCommand] } == nil && count == 1)
        withExtendedLifetime(radio) {}
    }

    // MARK: - The adapter's settings

    @Test func `an adapter that has one is not made private, and the error names its device`() async throws {
        let radio = try run.radio()
        connect(to: kernel.central)
        let address = try #require(radio.adapterInfo.address)
        let key = try #require(SecretKey(octets: Array(1...16)))
        let privacy = AdapterPrivacy(isOn: true, keys: [address: key])
        var failure: BLEError?
        do {
            try await run.result("setting privacy") { radio.setPrivacy(privacy, result: $0) }
        } catch let error as BLEError {
            failure = error
        }
        #expect(failure?.code == .busy)
        #expect(failure?.cause.contains("the link with \(Self.device) (Bluetooth Classic)") == true)
        #expect(count == 1 && radio.adapterInfo.state == .poweredOn)
    }

    // MARK: - The peripheral

    @Test(arguments: [false, true])
    func `the pairing of its device is not answered, even if its coming was missed`(_ isMissed: Bool) async throws {
        let number = kernel.peripheral
        let radio = try run.radio(number)
        let (events, questions) = (
            FakeRun.Collector<PairingReceptionEvent>(), FakeRun.Collector<PairingQuestion>()
        )
        let interview = PairingInterview(.displayYesNo) { question, reply in
            questions.add(question)
            reply(.accept)
        }
        let receiving = await run.receive(interview, on: radio, events)
        if isMissed {
            await kernel.lose(on: number) { _ = $0.connectClassic(Self.device.rawValue, on: number) }
        } else {
            connect(to: number)
            await kernel.idle()
        }
        let told = events.all.count
        kernel.with { state in
            let address = ManagementAddress(rawValue: Self.device.rawValue, kind: .classic)
            state.tell(number, 0x0F, address.octets + [0] + FakeState.octets(123_456))
        }
        await kernel.idle()
        #expect(questions.all.isEmpty && events.all.count == told)
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `an advertisement stays as it is when its device connects`() async throws {
        let number = kernel.peripheral
        let radio = try run.radio(number)
        let advertisement = try await run.advertise(radio)
        await kernel.idle()
        // The next command that puts an advertisement up has this answer.
        kernel.with { $0.adapters[number]?.answers[0x54] = .invalidParameters }
        let handle = connect(to: number)
        await kernel.idle()
        kernel.with { $0.endClassic(handle, of: number) }
        await kernel.idle()
        #expect(kernel.with { $0.adapters[number]?.answers[0x54] } == .invalidParameters)
        advertisement.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `an advertisement that is removed beside it is put back, and doesn't wait for its end`() async throws {
        let number = kernel.peripheral
        let radio = try run.radio(number)
        let advertisement = try await run.advertise(radio)
        connect(to: number)
        await kernel.idle()
        let instance = try #require(kernel.with { $0.adapters[number]?.instances.keys.first })
        kernel.with { state in
            state.adapters[number]?.answers[0x54] = .invalidParameters
            state.adapters[number]?.instances[instance] = nil
            state.tell(number, 0x24, [instance])
        }
        let isBack = await kernel.run(run.timeline, within: .seconds(60)) {
            kernel.with { $0.adapters[number]?.instances.values.contains(where: \.isOnAir) == true }
        }
        #expect(isBack)
        advertisement.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
