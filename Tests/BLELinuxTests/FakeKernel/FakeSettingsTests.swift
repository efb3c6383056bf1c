import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What a program sets of an adapter, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct FakeSettingsTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example)
            state.files["/proc/sys/kernel/random/boot_id"] = Array("this-boot\n".utf8)
        }
    )

    private func isPrivate() -> Bool? {
        run.kernel.with { $0.adapters[run.kernel.central]?.settings.contains(.privacy) }
    }

    private func hide(_ radio: LinuxRadio, interrupts: Bool = false) async throws {
        let address = try #require(radio.adapterInfo.address)
        let key = try #require(SecretKey(octets: Array(1...16)))
        let privacy = AdapterPrivacy(isOn: true, interrupts: interrupts, keys: [address: key])
        try await run.result("setting privacy") { radio.setPrivacy(privacy, result: $0) }
    }

    /// The error of what must fail.
    private func error(_ body: () async throws -> Void) async -> BLEError? {
        do {
            try await body()
        } catch {
            return error as? BLEError
        }
        return nil
    }

    // MARK: - Privacy

    @Test func `an adapter that nobody uses is made private, and is on again`() async throws {
        let radio = try run.radio()
        try await hide(radio)
        #expect(isPrivate() == true && radio.adapterInfo.state == .poweredOn)
        // With the key that is noted there is nothing to do, also beside a link.
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        try await hide(radio)
        end.link.disconnect()
        _ = try await end.end(in: run)
        try await run.result("setting privacy") { radio.setPrivacy(AdapterPrivacy(isOn: false), result: $0) }
        #expect(isPrivate() == false)
    }

    @Test func `an adapter that came while its key was made is not said to be off`() async throws {
        let radio = try run.radio()
        let address = try #require(radio.adapterInfo.address)
        let error = await error {
            try await run.result("setting privacy") { radio.setPrivacy(AdapterPrivacy(isOn: true), result: $0) }
        }
        #expect(error?.code == .adapterNotReady && error?.cause.contains("\(address)") == true)
        #expect(error?.remedy == "Try again." && error?.isFinal == false)
        #expect(isPrivate() == false && radio.adapterInfo.state == .poweredOn)
    }

    @Test func `an adapter with a link is left as it is, and the error names the peer`() async throws {
        let radio = try run.radio()
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        let error = await error { try await hide(radio) }
        #expect(error?.code == .busy && error?.cause.contains("the link with \(BluetoothAddress.example)") == true)
        #expect(isPrivate() == false)
        end.link.disconnect()
        _ = try await end.end(in: run)
    }

    @Test func `an adapter that advertises or scans passively is left as it is, and the error says so`() async throws {
        let radio = try run.radio()
        let advertisement = try await run.advertise(radio)
        let advertising = await error { try await hide(radio) }
        #expect(advertising?.code == .busy && advertising?.cause.contains("its advertising") == true)
        try await hide(radio, interrupts: true)
        #expect(isPrivate() == true)
        advertisement.cancel()
        try await run.result("setting privacy") {
            radio.setPrivacy(AdapterPrivacy(isOn: false, interrupts: true), result: $0)
        }
        let scan = try await run.first("scanning") {
            radio.scan(ScanRequest(isActive: false), events: $0)
        } _: { event -> Bool? in
            if case .failed(let error) = event { throw error }
            if case .reports = event { return true }
            return nil
        }
        let scanning = await error { try await hide(radio) }
        #expect(scanning?.code == .busy && scanning?.cause.contains("a passive scan") == true)
        scan.activity.cancel()
    }

    @Test func `beside bluetoothd its configuration is named`() async throws {
        run.kernel.with { $0.files["/proc/77/comm"] = Array("bluetoothd\n".utf8) }
        let radio = try run.radio()
        let error = await error { try await hide(radio) }
        #expect(error?.code == .notSupported && error?.remedy.contains("/etc/bluetooth/main.conf") == true)
        #expect(isPrivate() == false)
    }

    @Test func `what the kernel refuses on the way is the error, and the adapter is on`() async throws {
        for opcode: UInt16 in [0x04, 0x15, 0x2F] {
            let radio = try run.radio()
            await run.kernel.idle()
            run.kernel.with { $0.adapters[run.kernel.central]?.answers[opcode] = .notSupported }
            let error = await error { try await hide(radio) }
            #expect(error?.remedy.isEmpty == false, "opcode \(opcode)")
            #expect(isPrivate() == false && radio.adapterInfo.state == .poweredOn)
        }
    }

    // MARK: - Out-of-band data

    @Test func `without Secure Connections these are on for as long as it takes to make data`() async throws {
        run.kernel.with { $0.adapters[run.kernel.central]?.settings.remove(.secureConnections) }
        let radio = try run.radio()
        let data: OutOfBandData = try await run.result("making data") { radio.makeOutOfBandData(result: $0) }
        #expect(!data.octets.isEmpty)
        let isOn = run.kernel.with { $0.adapters[run.kernel.central]?.settings.contains(.secureConnections) }
        #expect(isOn == false)
    }

    @Test func `a private adapter makes no data, since that would tell its address`() async throws {
        run.kernel.with { _ = $0.adapters[run.kernel.central]?.settings.insert(.privacy) }
        let radio = try run.radio()
        let error = await error {
            _ = try await run.result("making data") { radio.makeOutOfBandData(result: $0) } as OutOfBandData
        }
        #expect(error?.code == .notSupported && error?.remedy.contains("setPrivacy(false)") == true)
    }

    @Test(arguments: [ManagementStatus.notSupported, .notPowered])
    func `a controller that can't make data is told, with what to do`(_ status: ManagementStatus) async throws {
        run.kernel.with { $0.adapters[run.kernel.central]?.answers[0x3B] = status }
        let radio = try run.radio()
        let error = await error {
            _ = try await run.result("making data") { radio.makeOutOfBandData(result: $0) } as OutOfBandData
        }
        #expect(error?.operation == "make out-of-band data" && error?.remedy.isEmpty == false)
    }

    // MARK: - What is left

    @Test func `an advertisement of a program that was killed is taken away by the next one`() async throws {
        let number = run.kernel.central
        let noted = try await {
            let radio = try run.radio()
            let advertisement = try await run.advertise(radio)
            defer { advertisement.cancel() }
            return run.kernel.with { $0.links.filter { $0.key.contains("/advertisement-") } }
        }()
        await run.kernel.idle()
        #expect(noted.count == 1 && noted.values.first == "this-boot")
        // As it was before that program ended: its instance is there, and nobody holds the note.
        run.kernel.with { state in
            state.links.merge(noted) { $1 }
            state.adapters[number]?.instances[200] = .init(flags: 1, data: [2, 1, 6])
        }
        let instance = try #require(noted.keys.first.flatMap { UInt8($0.split(separator: "-").last ?? "") })
        run.kernel.with { $0.adapters[number]?.instances[instance] = .init(flags: 1, data: [2, 1, 6]) }
        let radio = try run.radio()
        let advertisement = try await run.advertise(radio)
        let instances = run.kernel.with { $0.adapters[number]?.instances.keys.sorted() ?? [] }
        #expect(instances.count == 2 && instances.contains(200), "another program's stays")
        advertisement.cancel()
    }

    @Test func `a radio is settled when the kernel has carried out what was asked of it`() async throws {
        let radio = try run.radio()
        let advertisement = try await run.advertise(radio)
        advertisement.cancel()
        _ = try await run.first("settling") { (yield: @escaping @Sendable (Bool) -> Void) in
            radio.settle { yield(true) }
        } _: {
            $0
        }
        #expect(run.kernel.with { $0.adapters[run.kernel.central]?.instances.isEmpty } == true)
    }

    @Test func `a controller that is silent is named in the error, with what to do`() async throws {
        let error = ManagementFailure.status(.authenticationFailed, .startDiscovery)
            .error(operation: "scan", object: "hci0", adapter: try run.radio().adapter)
        #expect(error.code == .timedOut && error.cause.contains("does not answer") && !error.remedy.isEmpty)
    }

    @Test func `an adapter that a power cycle has left off is on after a reset, and one that is to be off is not`()
        async throws
    {
        let (kernel, radio) = (run.kernel, try run.radio())
        kernel.with { $0.plugAllIntoUSB() }
        // The controller answers nothing once it is off.
        let watch = radio.observeAdapter { info in
            guard info.state == .poweredOff else { return }
            kernel.with { $0.adapters[kernel.central]?.answers[0x05] = .authenticationFailed }
        }
        let cycled: Result<Void, BLEError> = try await run.answer("cycling") { radio.powerCycle(result: $0) }
        let failure = await error { try cycled.get() }
        #expect(failure?.code == .timedOut && radio.adapterInfo.state == .poweredOff)
        watch.cancel()
        try await run.result("resetting") { radio.reset(result: $0) }
        #expect(radio.adapterInfo.state == .poweredOn)
        try await run.result("switching off") { radio.setPowered(false, result: $0) }
        try await run.result("resetting") { radio.reset(result: $0) }
        #expect(radio.adapterInfo.state == .poweredOff)
    }

    @Test(arguments: [true, false])
    func `a scan ends when this program itself switches its adapter off`(_ isActive: Bool) async throws {
        let (kernel, radio) = (run.kernel, try run.radio())
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest(isActive: isActive)) { events.add($0) }
        await kernel.idle()
        try await run.result("switching off") { radio.setPowered(false, result: $0) }
        // Until all timers have fired.
        _ = await kernel.run(run.timeline, within: FakeRun.patience) { false }
        let failures = events.all.compactMap { if case .failed(let error) = $0 { error.code } else { nil } }
        #expect(failures == [.adapterPoweredOff])
        scan.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `an adapter that another program is switching is switched on a moment later`() async throws {
        let (kernel, radio) = (run.kernel, try run.radio())
        kernel.with { state in
            state.adapters[kernel.central]?.settings.remove(.powered)
            state.adapters[kernel.central]?.answers[0x05] = .busy
        }
        try await run.result("switching on") { radio.setPowered(true, result: $0) }
        #expect(radio.adapterInfo.state == .poweredOn)
    }

    @Test func `a power cycle leaves no adapter off because the kernel is busy for a moment`() async throws {
        let (kernel, radio) = (run.kernel, try run.radio())
        let watch = radio.observeAdapter { info in
            guard info.state == .poweredOff else { return }
            kernel.with { $0.adapters[kernel.central]?.answers[0x05] = .busy }
        }
        let cycled: Result<Void, BLEError> = try await run.answer("cycling") { radio.powerCycle(result: $0) }
        watch.cancel()
        try cycled.get()
        #expect(radio.adapterInfo.state == .poweredOn)
    }

    @Test func `a power cycle leaves no adapter off because the kernel is busy for a minute`() async throws {
        let (kernel, radio) = (run.kernel, try run.radio())
        let beBusy: @Sendable () -> Void = { kernel.with { $0.adapters[kernel.central]?.answers[0x05] = .busy } }
        let watch = radio.observeAdapter { info in if info.state == .poweredOff { beBusy() } }
        let cycled = FakeRun.Collector<Result<Void, BLEError>>()
        radio.powerCycle { cycled.add($0) }
        let isOver = await kernel.run(run.timeline, within: .seconds(60)) {
            beBusy()
            return !cycled.all.isEmpty
        }
        #expect(!isOver)
        watch.cancel()
        _ = await kernel.run(run.timeline, within: .seconds(10)) { !cycled.all.isEmpty }
        try #require(cycled.all.first).get()
        #expect(radio.adapterInfo.state == .poweredOn)
    }

    @Test func `what others switch on and off later is not said to be switched off by this program`() async throws {
        let (kernel, radio) = (run.kernel, try run.radio())
        func cause() -> String { radio.adapter.whyUnusable(for: "connect", object: "a peer").cause }
        try await run.result("switching off") { radio.setPowered(false, result: $0) }
        #expect(cause().contains("this program itself"))
        kernel.with { state in
            state.adapters[kernel.central]?.settings.insert(.powered)
            let settings = state.adapters[kernel.central]?.settings.rawValue ?? 0
            state.tell(kernel.central, 0x06, FakeState.octets(settings))
        }
        let seen = try await run.first("seeing it on") {
            radio.observeAdapter($0)
        } _: { (info: AdapterInfo) -> Bool? in
            info.state == .poweredOn ? true : nil
        }
        seen.activity.cancel()
        // Until all timers have fired.
        _ = await kernel.run(run.timeline, within: FakeRun.patience) { false }
        kernel.with { $0.switchOff(kernel.central, by: nil) }
        #expect(cause() == "the adapter \(kernel.name(kernel.central)) is switched off")
    }

    @Test func `what rfkill prevents is not the controller's refusal`() async throws {
        let (kernel, radio) = (run.kernel, try run.radio())
        kernel.with { $0.adapters[kernel.central]?.settings.remove(.powered) }
        func switchOn() async throws {
            kernel.with { $0.adapters[kernel.central]?.answers[0x05] = .failed }
            try await run.result("switching on") { radio.setPowered(true, result: $0) }
        }
        let refused = await error { try await switchOn() }
        #expect(refused?.code == .systemFailure)
        kernel.with { state in
            state.files["/sys/class/rfkill/rfkill0/name"] = Array("\(kernel.name(kernel.central))\n".utf8)
            state.files["/sys/class/rfkill/rfkill0/soft"] = Array("1\n".utf8)
            state.files["/sys/class/rfkill/rfkill0/hard"] = Array("0\n".utf8)
        }
        let blocked = await error { try await switchOn() }
        #expect(blocked?.code == .adapterBlocked && blocked?.remedy.contains("rfkill unblock bluetooth") == true)
        let pairing = ManagementFailure.status(.failed, .pairDevice)
        #expect(pairing.error(operation: "pair", object: "", adapter: radio.adapter).code == .adapterBlocked)
    }
}
