import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// Something that a radio does, from its opening to its end.
struct FakeOperation: Sendable, CustomTestStringConvertible {
    let name: String
    var prepare: @Sendable (inout FakeState) -> Void = { _ in }
    let body: @Sendable (FakeRun) async throws -> Void

    var testDescription: String { name }

    init(_ name: String, _ body: @escaping @Sendable (FakeRun) async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// The same on a kernel that is another.
    func on(_ prepare: @escaping @Sendable (inout FakeState) -> Void) -> FakeOperation {
        var operation = self
        operation.prepare = prepare
        return operation
    }

    static let all = alone + between + security + settings

    /// A radio, and a device that is none of this kernel's.
    private static let alone = [
        FakeOperation("open") { run in
            let radio = try run.radio()
            _ = try await run.first("watching the adapter", radio.observeAdapter) { $0 }
            _ = try LinuxRadio.adapters(of: run.kernel.kernel)
        },
        FakeOperation("scan") { run in try await run.hear(run.radio(), ScanRequest()) },
        FakeOperation("scan for a service, each once") { run in
            let request = ScanRequest(services: [BluetoothUUID(0x180D)], reportsDuplicates: false)
            try await run.hear(run.radio(), request)
        },
        FakeOperation("scan passively") { run in try await run.hear(run.radio(), ScanRequest(isActive: false)) },
        FakeOperation("scan by HCI") { run in
            try await run.hear(run.radio(), ScanRequest())
        }.on { $0.isAdministrator = false },
        FakeOperation("connect, send and receive") { run in try await run.exchange(run.radio(), with: .example) },
        FakeOperation("connect on a kernel that kills who closes") { run in
            let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
            run.kernel.endLinks(of: .example)
            _ = try await end.end(in: run)
        }.on { $0.release = "6.1.192" },
        FakeOperation("connect to nobody, and cancel") { run in
            let attempts = FakeRun.Collector<Result<any ATTLink, BLEError>>()
            let attempt = try run.radio().connect(to: .example) { attempts.add($0) }
            await run.kernel.idle()
            attempt.cancel()
            await run.kernel.idle()
            // Who has cancelled is told nothing; what failed before that was told.
            for result in attempts.all { _ = try result.get() }
        }.on { $0.peers[.example]?.isHere = false },
        FakeOperation("ask a link") { run in
            let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
            _ = try await run.answer("reading the RSSI") { end.link.readRSSI($0) }
            _ = try await run.answer("reading conditions") { end.link.readConditions($0) }
            let changed = try await run.answer("changing parameters") { end.link.request(.balanced, $0) }
            let encrypted = try await run.answer("encrypting") { end.link.encrypt($0) }
            end.link.disconnect()
            _ = try await end.end(in: run)
            try changed.get()
            try encrypted.get()
        },
    ]

    /// Two radios of one kernel.
    private static let between = [
        FakeOperation("listen, accept and serve") { run in
            let (central, peripheral) = (try run.radio(), try run.radio(run.kernel.peripheral))
            let listener = FakeRun.Collector<ListenEvent>()
            let listening = peripheral.listen { listener.add($0) }
            _ = try await listener.first("listening", in: run) { event -> Bool? in
                if case .failed(let error) = event { throw error }
                if case .started = event { return true }
                return nil
            }
            let advertisement = try await run.advertise(peripheral)
            let attempt = FakeRun.Collector<Result<any ATTLink, BLEError>>()
            let address = run.kernel.with { $0.adapters[run.kernel.peripheral]?.address } ?? .example
            let connecting = central.connect(to: address) { attempt.add($0) }
            let (here, there) = try await run.ends(of: attempt, at: listener)
            connecting.cancel()
            if let there, try await here.send([0x52, 1, 0], in: run) { _ = try await there.pdu(in: run) }
            here.link.disconnect()
            _ = try await (here.end(in: run), there?.end(in: run))
            advertisement.cancel()
            listening.cancel()
        },
        FakeOperation("advertise, change and end") { run in
            let radio = try run.radio()
            let advertisement = try await run.advertise(radio)
            let changed: Result<Void, BLEError> = try await run.answer("changing an advertisement") { result in
                advertisement.change(to: AdvertiseRequest([.localName("another")]), result: result)
            }
            advertisement.cancel()
            try changed.get()
        },
        FakeOperation("watch all adapters") { run in
            let roster = try AdapterRoster(mayBeMissing: false, on: run.kernel.kernel, timeline: run.timeline)
            let radios = FakeRun.Collector<String>()
            let watch = roster.observe { radios.add($0.adapterName) }
            run.kernel.unplug(run.kernel.peripheral)
            await run.kernel.idle()
            watch.cancel()
        },
    ]

    private static let security = [
        FakeOperation("pair") { run in try await run.pair(.noInputNoOutput) },
        FakeOperation("pair by comparison") { run in
            try await run.pair(.displayYesNo)
        }.on { $0.peers[.example]?.pairing = .comparison(123_456) },
        FakeOperation("pair by passkey") { run in
            try await run.pair(.keyboardOnly)
        }.on { $0.peers[.example]?.pairing = .passkey },
        FakeOperation("bring bonds back, and unpair") { run in
            let radio = try run.radio()
            try await run.result("restoring") { radio.restore([], result: $0) }
            _ = try await run.result("unpairing") { radio.unpair(.example, result: $0) } as Bool
        },
        FakeOperation("make out-of-band data") { run in
            let radio = try run.radio()
            _ = try await run.result("making data") { radio.makeOutOfBandData(result: $0) } as OutOfBandData
        },
        FakeOperation("receive pairings") { run in
            let radio = try run.radio()
            let reception = PairingReception(.noInputNoOutput) { _ in .justWorks }
            let receiving = try await run.first("receiving pairings") {
                radio.receivePairings(reception, events: $0)
            } _: { event -> Bool? in
                if case .ended(let error) = event { throw error }
                if case .started = event { return true }
                return nil
            }
            receiving.activity.cancel()
        },
    ]

    private static let settings = [
        FakeOperation("switch off and on") { run in
            let radio = try run.radio()
            try await run.result("switching off") { radio.setPowered(false, result: $0) }
            try await run.result("switching on") { radio.setPowered(true, result: $0) }
        },
        FakeOperation("cycle the power") { run in
            let radio = try run.radio()
            let outcome: Result<Void, BLEError> = try await run.answer("cycling") { radio.powerCycle(result: $0) }
            try outcome.get()
        },
        FakeOperation("switch a silent adapter off") { run in
            let radio = try run.radio()
            try await run.result("switching off") { radio.setPowered(false, result: $0) }
        }.on { $0.silenceAll(0x05) },
        FakeOperation("read and select PHYs") { run in
            let radio = try run.radio()
            _ = try await run.result("reading PHYs") { radio.readPHYs(result: $0) } as AdapterPHYs
            try await run.result("selecting PHYs") { radio.selectPHYs(AdapterPHYs.Selection([.le1M]), result: $0) }
        },
        FakeOperation("be private") { run in
            let radio = try run.radio()
            _ = try await run.result("reading privacy") { radio.readPrivacy(result: $0) } as Bool
            let address = radio.adapterInfo.address ?? .example
            let keys = SecretKey(octets: Array(1...16)).map { [address: $0] } ?? [:]
            let privacy = AdapterPrivacy(isOn: true, interrupts: true, keys: keys)
            try await run.result("setting privacy") { radio.setPrivacy(privacy, result: $0) }
        },
        FakeOperation("reset a USB adapter") { run in
            let radio = try run.radio()
            try await run.result("resetting") { radio.reset(result: $0) }
        }.on { $0.plugAllIntoUSB() },
    ]
}

extension FakeRun {
    /// Both ends of a link that is being made, or the failure of one; only its beginning where that ended before it was
    /// accepted.
    ///
    /// A listener that may open nothing more waits for as long as that lasts: where no link comes of it, that is what
    /// it has told.
    func ends(
        of attempt: Collector<Result<any ATTLink, BLEError>>,
        at listener: Collector<ListenEvent>
    ) async throws -> (here: End, there: End?) {
        var (here, there): (End?, End?)
        var failure: BLEError?
        _ = await kernel.run(timeline, within: Self.patience) {
            switch attempt.all.first {
            case .success(let link) where here == nil: here = End(link)
            case .failure(let error): failure = error
            case .success, nil: break
            }
            for event in listener.all {
                switch event {
                case .failed(let error): failure = failure ?? error
                case .accepted(let link) where there == nil: there = End(link)
                case .accepted, .started, .interrupted: break
                }
            }
            return failure != nil || here != nil && there != nil
        }
        if let here, there != nil || here.hasEnded { return (here, there) }
        here?.link.disconnect()
        there?.link.disconnect()
        if let failure { throw failure }
        for case .interrupted(let error) in listener.all { throw error }
        throw Hang(description: "making a link has no end")
    }

    func advertise(_ radio: LinuxRadio) async throws -> RadioActivity {
        let request = AdvertiseRequest([.localName("fake")], interval: .milliseconds(100) ... .milliseconds(150))
        return try await first("advertising") {
            radio.advertise(request, events: $0)
        } _: { event -> Bool? in
            if case .failed(let error) = event { throw error }
            return true
        }.activity
    }

    func pair(_ capability: PairingCapability) async throws {
        let radio = try radio()
        let link = try await connect(radio, to: .example)
        let end = End(link)
        let interview = PairingInterview(capability) { question, reply in
            switch question {
            case .passkey: reply(.passkey(1234))
            case .comparison, .display: reply(.accept)
            }
        }
        let outcome: Result<Bond?, BLEError> = try await first("pairing") {
            radio.pair(with: .example, asking: interview, result: $0)
        } _: {
            $0
        }.value
        end.link.disconnect()
        _ = try await end.end(in: self)
        _ = try outcome.get()
    }
}

extension FakeState {
    mutating func silenceAll(_ opcode: UInt16) {
        for number in adapters.keys { adapters[number]?.silent.insert(opcode) }
    }

    mutating func plugAllIntoUSB() {
        for number in adapters.keys {
            let interface = "/sys/class/bluetooth/hci\(number)/device"
            links["\(interface)/subsystem"] = "../../../bus/usb"
            files["\(interface)/../busnum"] = Array("1\n".utf8)
            files["\(interface)/../devnum"] = Array("7\n".utf8)
            files["\(interface)/../idVendor"] = Array("0a12\n".utf8)
        }
        files["/dev/bus/usb/001/007"] = []
    }

    mutating func unplug(_ number: UInt16) {
        switchOff(number, by: nil)
        adapters[number] = nil
        tell(number, 0x05, [])
        // Who holds it holds nothing any more. Source: kernel, `net/bluetooth/hci_sock.c`, `hci_sock_dev_event`.
        for descriptor in Array(objects.keys) {
            guard case .raw(let held)? = objects[descriptor]?.hci?.channel, held == number else { continue }
            objects[descriptor]?.hci?.channel = nil
            objects[descriptor]?.error = EPIPE
        }
    }
}

extension FakeKernel {
    /// The peer closes its links.
    func endLinks(of peer: BluetoothAddress) {
        with { state in
            for number in state.adapters.keys {
                if let link = state.link(of: number, with: peer) { state.end(link.socket) }
            }
        }
    }

    func unplug(_ number: UInt16) { with { $0.unplug(number) } }
}
