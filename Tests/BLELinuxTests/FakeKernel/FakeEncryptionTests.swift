import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// Links that are encrypted and paired, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct FakeEncryptionTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    /// The input and output capabilities that the adapter was given, in their order.
    private var capabilities: [UInt8] { run.kernel.with { $0.adapters[run.kernel.central]?.capabilities ?? [] } }

    @Test func `a link is raised to better keys, by the person who is asked`() async throws {
        run.kernel.with { $0.peers[.example]?.pairing = .comparison(123_456) }
        let radio = try run.radio()
        radio.expectPairing(with: .example, as: .displayYesNo)
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        try await raise(end)
        end.link.disconnect()
        _ = try await end.end(in: run)
    }

    /// Raises a link to better keys, for which a person is asked once.
    private func raise(_ end: FakeRun.End) async throws {
        let asked = FakeRun.Collector<PairingQuestion>()
        let interview = PairingInterview(.displayYesNo) { question, reply in
            asked.add(question)
            reply(.accept)
        }
        let bond: Bond? = try await run.result("raising") { result in
            end.link.raise(to: .authenticated, asking: interview, result: result)
        }
        #expect(bond?.peer == .example && asked.all.count == 1)
    }

    /// A device with a private address.
    private static let device = BluetoothAddress(rawValue: 0x6655_4433_2211, kind: .random)

    /// A link to that device, which has told the identity behind its address.
    private func linkToPrivate(on radio: LinuxRadio) async throws -> FakeRun.End {
        run.kernel.with { $0.peers[Self.device] = FakePeer(address: Self.device) }
        let end = FakeRun.End(try await run.connect(radio, to: Self.device))
        await run.kernel.idle()
        await tellIdentity()
        return end
    }

    /// The device tells the identity behind its address.
    private func tellIdentity() async {
        run.kernel.with { $0.tellIdentity(.example, of: Self.device, to: run.kernel.central) }
        await run.kernel.idle()
    }

    /// The kernel has made a key with the device, under its identity.
    private func tellKey() {
        run.kernel.with { state in
            let key: [UInt8] = [3, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)
            state.tell(run.kernel.central, 0x0A, [1] + ManagementAddress(.example).octets + key)
        }
    }

    /// The kernel names the connection by the identity at once, and the link's socket 0.2 s later.
    @Test func `a link goes by the identity that its peer has just told, for better keys and for its conditions`()
        async throws
    {
        run.kernel.with { $0.peers[.example]?.pairing = .comparison(123_456) }
        let end = try await linkToPrivate(on: try run.radio())
        let rssi = try await run.answer("reading the RSSI") { end.link.readRSSI($0) }
        #expect(rssi != nil)
        try await raise(end)
        end.link.disconnect()
        _ = try await end.end(in: run)
    }

    /// The kernel tells keys under the identity, and tells that only once.
    @Test func `who begins to watch a link whose peer has just told its identity hears of its keys`() async throws {
        let end = try await linkToPrivate(on: try run.radio())
        let told = FakeRun.Collector<Bool>()
        let watch = end.link.observeSecurity { told.add(true) }
        #expect(!end.link.hasKey)
        tellKey()
        await run.kernel.idle()
        #expect(told.all.count == 1 && end.link.hasKey)
        watch.cancel()
        end.link.disconnect()
        _ = try await end.end(in: run)
    }

    /// The kernel tells failures under the identity, too.
    @Test func `a link that starts when its peer has just told its identity tells what the peer asks for in vain`()
        async throws
    {
        run.kernel.with { $0.peers[Self.device] = FakePeer(address: Self.device) }
        let radio = try run.radio()
        let link = try await run.connect(radio, to: Self.device)
        await run.kernel.idle()
        await tellIdentity()
        let end = FakeRun.End(link)
        await run.kernel.idle()
        run.kernel.with { $0.tell(run.kernel.central, 0x11, ManagementAddress(.example).octets + [5]) }
        await run.kernel.idle()
        #expect(end.failures.all.count == 1)
        end.link.disconnect()
        _ = try await end.end(in: run)
    }

    /// Its bond may have been removed since, and the kernel knows no identity for it any more.
    @Test func `a link goes by the private address under which it is made, whatever was told under it before`()
        async throws
    {
        let radio = try run.radio()
        let former = try await linkToPrivate(on: radio)
        former.link.disconnect()
        _ = try await former.end(in: run)
        let end = FakeRun.End(try await run.connect(radio, to: Self.device))
        await run.kernel.idle()
        let rssi = try await run.answer("reading the RSSI") { end.link.readRSSI($0) }
        #expect(rssi != nil)
        end.link.disconnect()
        _ = try await end.end(in: run)
    }

    @Test func `a link leaves the capability alone that another radio receives pairings with`() async throws {
        let (server, radio) = (try run.radio(), try run.radio())
        let reception = PairingReception(.displayOnly) { _ in PairingInterview(.displayOnly) { _, _ in } }
        let receiving = server.receivePairings(reception) { _ in }
        await run.kernel.idle()
        #expect(capabilities == [0])
        radio.expectPairing(with: .example, as: .displayYesNo)
        try await run.exchange(radio, with: .example)
        #expect(capabilities == [0])
        receiving.cancel()
        await run.kernel.idle()
        let before = capabilities
        try await run.exchange(radio, with: .example)
        #expect(capabilities == before + [1, 3])
    }

    @Test func `a link tells the bond that the kernel has made at its peer's request`() async throws {
        let radio = try run.radio()
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        await run.kernel.idle()
        tellKey()
        await run.kernel.idle()
        #expect(end.bonds.all.map(\.peer) == [.example])
        #expect(end.bonds.all.first?.adapter == radio.adapterInfo.address)
        end.link.disconnect()
        await run.kernel.idle()
    }

    /// The kernel has no key that suffices, and pairs by itself; its socket would never be writable again.
    @Test func `a link whose encryption fails since its peer refuses to pair ends at once, and says so`() async throws {
        run.kernel.with { $0.peers[.example]?.pairing = .refuses }
        let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
        await run.kernel.idle()
        let outcome = try await run.answer("encrypting") { end.link.encrypt($0) }
        let failure = outcome.failure
        #expect(failure?.code == .securityFailed && failure?.reason?.kind == .authenticationFailed)
        #expect(failure?.remedy.contains("unpair") == true, "\(failure as Any)")
        #expect(try await end.end(in: run).kind == .authenticationFailed)
        #expect(end.link.send([0x0A, 3, 0]) == .ended)
    }

    /// The peer has requested that itself, and the kernel has dropped the link.
    @Test func `who asks for encryption when the peer's want of a key has ended the link is told that`() async throws {
        let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
        await run.kernel.idle()
        let central = run.kernel.central
        run.kernel.with { state in
            guard let link = state.link(of: central, with: .example) else { return }
            state.end(link.socket, error: ECONNABORTED, reason: 4)
        }
        #expect(try await end.end(in: run).kind == .closedLocally)
        let outcome = try await run.answer("encrypting") { end.link.encrypt($0) }
        let failure = outcome.failure
        #expect(failure?.code == .securityFailed && failure?.reason?.kind == .keyMissing, "\(failure as Any)")
        #expect(failure?.cause.contains("no longer has the keys") == true, "\(failure as Any)")
    }

    @Test func `a link leaves the capability alone that another program receives pairings with`() async throws {
        let radio = try run.radio()
        let facts = try #require(radio.adapter.facts)
        // What that program holds from before it sets its capability until it has put it back.
        var note = LeftoverNote(KernelThing(.capability, 0, of: facts), in: nil, of: run.kernel.kernel)
        #expect(note != nil)
        radio.expectPairing(with: .example, as: .displayYesNo)
        try await run.exchange(radio, with: .example)
        #expect(capabilities == [])
        withExtendedLifetime(note) {}
        note = nil
        try await run.exchange(radio, with: .example)
        #expect(capabilities == [1, 3])
    }

    @Test func `a capability is claimed on the next link to the peer alone`() async throws {
        let radio = try run.radio()
        radio.expectPairing(with: .example, as: .displayYesNo)
        try await run.exchange(radio, with: .example)
        #expect(capabilities == [1, 3])
        // Nobody has looked for bluetoothd again, whose agent's capability this would be by now.
        try await run.exchange(radio, with: .example)
        #expect(capabilities == [1, 3])
    }

    @Test func `a capability that is withdrawn is not claimed`() async throws {
        let radio = try run.radio()
        radio.expectPairing(with: .example, as: .displayYesNo)
        radio.expectPairing(with: .example, as: .noInputNoOutput)
        try await run.exchange(radio, with: .example)
        #expect(capabilities == [])
    }

    @Test func `a link whose peer refuses better keys stays as it is, and says who refused`() async throws {
        run.kernel.with { $0.peers[.example]?.pairing = .refuses }
        let radio = try run.radio()
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        do {
            _ =
                try await run.result("raising") { result in
                    end.link.raise(to: .authenticated, asking: .justWorks, result: result)
                } as Bond?
            Issue.record("it was raised")
        } catch let error as BLEError {
            #expect(error.operation == "pair" && !error.remedy.isEmpty)
        }
        #expect(try await end.send([0x0A, 3, 0], in: run), "the link is still there")
        end.link.disconnect()
        _ = try await end.end(in: run)
    }
}
