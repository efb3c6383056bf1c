import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A program whose management socket had no room for some of the kernel's events, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct MissedEventsTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }

    @Test func `events that are missing behind the last one are told, once`() async throws {
        let radio = try run.radio()
        let management = try #require(radio.management)
        await kernel.idle()
        let lost = FakeRun.Collector<Int>()
        let observation = management.observe({ _ in }, lost: { lost.add($0) })
        kernel.with { state in
            // More than one reading takes.
            for _ in 0...ReceiveBuffer.slots { state.tellOfDevice(kernel.central) }
            state.unheard { state in
                for _ in 0..<3 { state.tellOfDevice(kernel.central) }
            }
        }
        await kernel.idle()
        #expect(lost.all == [3])
        kernel.with { $0.tellOfDevice(kernel.central) }
        await kernel.idle()
        #expect(lost.all == [3])
        observation.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `they are told where the last reading was a full one`() async throws {
        let radio = try run.radio()
        let management = try #require(radio.management)
        await kernel.idle()
        let lost = FakeRun.Collector<Int>()
        let observation = management.observe({ _ in }, lost: { lost.add($0) })
        kernel.with { state in
            for _ in 0..<SocketDrain.fairShare * ReceiveBuffer.slots { state.tellOfDevice(kernel.central) }
            state.unheard { $0.tellOfDevice(kernel.central) }
        }
        await kernel.idle()
        #expect(lost.all == [1])
        observation.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `an advertisement that waits for the end of a link goes on though it missed that`() async throws {
        let number = kernel.peripheral
        let radio = try run.radio(number)
        let advertisement = try await run.advertise(radio)
        let link = kernel.with { state -> Int32? in
            // The controller can't advertise beside a link, and the kernel removes what it can't change.
            state.adapters[number]?.answers[0x54] = .invalidParameters
            state.adapters[number]?.instances = [:]
            state.makeLink(of: number, isCentral: false)
            return state.link(of: number, with: .example)?.socket
        }
        let socket = try #require(link)
        let isOnAir: () -> Bool = { kernel.with { $0.adapters[number]?.instances.isEmpty == false } }
        await kernel.idle()
        #expect(!isOnAir())
        // Something else was missed: the link is still there.
        kernel.with { state in
            state.unheard { $0.tellOfDevice(number) }
            state.tellOfDevice(number)
        }
        await kernel.idle()
        #expect(!isOnAir())
        kernel.with { state in
            state.unheard { $0.end(socket) }
            state.tellOfDevice(number)
        }
        await kernel.idle()
        #expect(isOnAir())
        advertisement.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `an advertisement ends whose adapter was unplugged and plugged in unseen`() async throws {
        let number = kernel.peripheral
        let radio = try run.radio(number)
        let events = FakeRun.Collector<AdvertiseEvent>()
        let request = AdvertiseRequest([.localName("fake")], interval: .milliseconds(100) ... .milliseconds(150))
        let advertisement = radio.advertise(request) { events.add($0) }
        await kernel.idle()
        let instances = kernel.with { $0.adapters[number]?.instances.count }
        #expect(instances == 1)
        kernel.with { state in
            state.unheard { $0.plugInAgain(number) }
            state.tellOfDevice(number)
        }
        await kernel.idle()
        let failures = events.all.compactMap { if case .failed(let error) = $0 { error.code } else { nil } }
        #expect(failures == [.adapterNotFound])
        advertisement.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    // MARK: - Links

    @Test func `an attempt to connect interrupts a discovery whose beginning was missed`() async throws {
        let radio = try run.radio()
        kernel.with { state in
            state.tell(kernel.central, 0x13, [6, 1])
            state.tell(kernel.central, 0x13, [6, 0])
        }
        await kernel.idle()
        kernel.with { state in
            state.unheard { state in
                state.adapters[kernel.central]?.isDiscovering = true
                state.tell(kernel.central, 0x13, [6, 1])
            }
            state.tellOfDevice(kernel.central)
        }
        await kernel.idle()
        radio.connecting.interruptDiscovery()
        await kernel.idle()
        #expect(!isDiscovering)
        withExtendedLifetime(radio) {}
    }

    @Test func `why a link has ended is not why the one after it has, of which nothing was told`() async throws {
        let radio = try run.radio()
        let peer = ManagementAddress(.example).octets
        let reason = ManagementDisconnectReason.authenticationFailure
        kernel.with { $0.tell(kernel.central, 0x0C, peer + [reason.rawValue]) }
        await kernel.idle()
        #expect(radio.security.end(ofLinkTo: .example) == reason)
        kernel.with { state in
            state.unheard { $0.tell(kernel.central, 0x0B, peer + [8, 0, 0, 0, 0, 0]) }
            state.tellOfDevice(kernel.central)
        }
        await kernel.idle()
        #expect(radio.security.end(ofLinkTo: .example) == nil)
        withExtendedLifetime(radio) {}
    }

    // MARK: - Keys

    @Test func `whoever waits for new keys with a peer looks where their event may have been lost`() async throws {
        let number = kernel.central
        let radio = try run.radio()
        let looks = FakeRun.Collector<Bool>()
        let watch = radio.security.watchKeys(of: .example) { looks.add(true) }
        await kernel.idle()
        #expect(looks.all.isEmpty)
        let key: [UInt8] = [3, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)
        kernel.with { state in
            state.unheard { $0.tell(number, 0x0A, [1] + ManagementAddress(.example).octets + key) }
            state.tellOfDevice(number)
        }
        await kernel.idle()
        #expect(looks.all == [true])
        watch.cancel()
        withExtendedLifetime(radio) {}
    }

    /// Gives the kernel a bond, as a program does that can't read the kernel's list, where there is no bluetoothd.
    private func load(_ bond: Bond, _ name: String, into radio: LinuxRadio) async throws -> Bool {
        try await run.answer("loading") { [kernel = kernel.kernel] answer in
            radio.loop.enqueue {
                radio.keys.load([bond], on: name, current: nil, bluetoothd: .absent, of: kernel) { outcome in
                    if case .success = outcome { answer(true) } else { answer(false) }
                }
            }
        }
    }

    @Test func `an adapter that was unplugged and plugged in unseen is given the keys again`() async throws {
        let number = kernel.central
        let radio = try run.radio()
        let address = try #require(kernel.with { $0.adapters[number]?.address })
        let value = try #require(SecretKey(octets: Array(1...16)))
        let key = Bond.EncryptionKey(kind: 2, initiator: 0, size: 16, diversifier: 0, random: 0, value: value)
        let bond = Bond(
            peer: BluetoothAddress(rawValue: 0xC0DE_0000_0001, kind: .random),
            adapter: address,
            encryptionKeys: [key]
        )
        // Claims are shared by all tests of this program, so no other one may use the name.
        let name = "hci\(UInt64.random(in: 1000 ... .max))"
        let lists: () -> Int? = { kernel.with { $0.adapters[number]?.keyLists } }
        #expect(try await load(bond, name, into: radio))
        #expect(lists() == 1)
        // Something else was missed: the kernel still has them.
        kernel.with { state in
            state.unheard { $0.tellOfDevice(number) }
            state.tellOfDevice(number)
        }
        await kernel.idle()
        #expect(try await load(bond, name, into: radio))
        #expect(lists() == 1 && radio.keys.isKnown(bond.peer))
        kernel.with { state in
            state.unheard { $0.plugInAgain(number) }
            state.tellOfDevice(number)
        }
        await kernel.idle()
        #expect(lists() == 0 && !radio.keys.isKnown(bond.peer))
        #expect(try await load(bond, name, into: radio))
        #expect(lists() == 1)
        withExtendedLifetime(radio) {}
    }

    // MARK: - Adapters

    @Test func `an adapter that was switched off and on unseen is told as it is`() async throws {
        let radio = try run.radio()
        let states = FakeRun.Collector<AdapterInfo.State>()
        let watch = radio.observeAdapter { states.add($0.state) }
        await kernel.idle()
        kernel.with { state in
            state.unheard { $0.switchOff(kernel.central, by: nil) }
            state.tellOfDevice(kernel.central)
        }
        await kernel.idle()
        #expect(states.all == [.poweredOn, .poweredOff])
        kernel.with { state in
            state.unheard { state in
                state.adapters[kernel.central]?.settings.insert(.powered)
                state.tell(kernel.central, 0x06, [1, 0, 0, 0])
            }
            state.tellOfDevice(kernel.central)
        }
        await kernel.idle()
        #expect(states.all == [.poweredOn, .poweredOff, .poweredOn])
        watch.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `an adapter that was plugged in unseen appears all the same`() async throws {
        let number = kernel.peripheral + 1000
        let roster = try AdapterRoster(mayBeMissing: false, on: kernel.kernel, timeline: run.timeline)
        let names = FakeRun.Collector<String>()
        let watch = roster.observe { names.add($0.adapterName) }
        await kernel.idle()
        #expect(!names.all.contains(kernel.name(number)))
        kernel.with { state in
            state.unheard { state in
                let address = BluetoothAddress(rawValue: 0x00AA_0300_0000 | UInt64(number), kind: .public)
                state.adapters[number] = FakeAdapter(number: number, address: address)
                state.tell(number, 0x04, [])
            }
            state.tellOfDevice(kernel.central)
        }
        await kernel.idle()
        #expect(names.all.contains(kernel.name(number)))
        watch.cancel()
    }

    // MARK: - Scans

    private var isDiscovering: Bool { kernel.with { $0.adapters[kernel.central]?.isDiscovering == true } }
    private var hasMonitor: Bool { kernel.with { $0.adapters[kernel.central]?.monitors.isEmpty == false } }

    @Test func `a scan without rounds discovers again though it missed the end of its discovery`() async throws {
        let radio = try run.radio()
        let scan = radio.scan(ScanRequest()) { _ in }
        await kernel.idle()
        #expect(isDiscovering)
        kernel.with { state in
            state.unheard { $0.endDiscovery(of: kernel.central) }
            state.tellOfDevice(kernel.central)
        }
        await kernel.idle()
        #expect(!isDiscovering)
        let isBack = await kernel.run(run.timeline, within: .seconds(60)) { isDiscovering }
        #expect(isBack)
        scan.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `a passive scan hears again though it missed the removal of its monitor`() async throws {
        let radio = try run.radio()
        let scan = radio.scan(ScanRequest(isActive: false)) { _ in }
        await kernel.idle()
        #expect(hasMonitor)
        kernel.with { state in
            state.unheard { state in
                state.adapters[kernel.central]?.monitors = []
                state.tell(kernel.central, 0x2C, [1, 0])
            }
            state.tellOfDevice(kernel.central)
        }
        await kernel.idle()
        #expect(!hasMonitor)
        let isBack = await kernel.run(run.timeline, within: .seconds(60)) { hasMonitor }
        #expect(isBack)
        scan.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test(arguments: [true, false])
    func `a scan fails though it missed that its adapter was switched off`(_ isActive: Bool) async throws {
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest(isActive: isActive)) { events.add($0) }
        await kernel.idle()
        kernel.with { state in
            state.unheard { $0.switchOff(kernel.central, by: nil) }
            state.tellOfDevice(kernel.central)
        }
        await kernel.idle()
        let failures = events.all.compactMap { if case .failed(let error) = $0 { error.code } else { nil } }
        #expect(failures == [.adapterPoweredOff])
        scan.cancel()
        withExtendedLifetime(radio) {}
    }
}

extension FakeState {
    /// Unplugs an adapter, and plugs it in again, with the same number.
    fileprivate mutating func plugInAgain(_ number: UInt16) {
        guard let address = adapters[number]?.address else { return }
        unplug(number)
        adapters[number] = FakeAdapter(number: number, address: address)
        tell(number, 0x04, [])
    }
}
