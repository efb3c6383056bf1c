import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// Connecting, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct FakeConnectTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private func error(connecting radio: LinuxRadio) async throws -> BLEError? {
        do {
            _ = try await run.connect(radio, to: .example)
        } catch let error as BLEError {
            return error
        }
        return nil
    }

    /// The peer comes into range, and the kernel connects.
    private func peerAppears() async {
        run.kernel.with { state in
            state.peers[.example]?.isHere = true
            state.lookForLinks()
        }
        await run.kernel.idle()
    }

    /// What `connect` itself refuses: the code, and a word of what to do.
    @Test(arguments: [
        (EBUSY, BLEError.Code.busy, "Disconnect it there"), (ECONNREFUSED, .notSupported, "le on"),
        (EOPNOTSUPP, .notSupported, "Bluetooth 4.0"), (EPERM, .permissionDenied, ""), (ENOMEM, .systemFailure, ""),
    ])
    func `an attempt that the kernel refuses at once says why`(
        _ error: Int32,
        _ code: BLEError.Code,
        _ remedy: String
    ) async throws {
        run.kernel.with { $0.fault = SystemFault(call: .connect, number: 1, effect: .keepsFailing(error)) }
        let failure = try await self.error(connecting: run.radio())
        #expect(failure?.code == code && failure?.operation == "connect")
        #expect(failure?.remedy.isEmpty == false && failure?.remedy.contains(remedy) == true)
    }

    @Test func `a program that only waits for the peer has no link that could be disconnected`() async throws {
        run.kernel.with { $0.peers[.example]?.isHere = false }
        let first = try run.radio().connect(to: .example) { _ in }
        await run.kernel.idle()
        let failure = try await error(connecting: run.radio())
        #expect(failure?.code == .busy && failure?.cause.contains("waiting for it") == true)
        #expect(failure?.cause.contains("connected") == false)
        #expect(failure?.remedy.hasSuffix("end the program that waits.") == true)
        run.kernel.with { $0.files["/proc/77/comm"] = Array("bluetoothd\n".utf8) }
        let beside = try await error(connecting: run.radio())
        #expect(beside?.remedy.contains("bluetoothctl disconnect") == true)
        first.cancel()
    }

    @Test func `an attempt to the other kind of an address waits until a cancelled one is cleaned up`() async throws {
        run.kernel.with { state in
            state.peers[.example]?.isHere = false
            state.tellsVainAttempts = false
        }
        let radio = try run.radio()
        let first = radio.connect(to: .example) { _ in }
        await run.kernel.idle()
        first.cancel()
        await run.kernel.idle()
        let calls = run.kernel.with { $0.calls[.connect] }
        let other = BluetoothAddress(rawValue: BluetoothAddress.example.rawValue, kind: .public)
        let second = radio.connect(to: other) { _ in }
        await run.kernel.idle()
        #expect(run.kernel.with { $0.calls[.connect] } == calls)
        let isAsked = await run.kernel.run(run.timeline, within: .seconds(1)) {
            run.kernel.with { $0.calls[.connect] } != calls
        }
        #expect(isAsked)
        second.cancel()
    }

    /// What the kernel tells once it has tried: a word of the cause.
    @Test(arguments: [
        (EMLINK, "no free connection slot"), (EACCES, "authentication failed"), (EBADE, "keys of the bond"),
        (ENOSYS, "before it was established"), (EBUSY, "busy"), (ECONNRESET, "closed the connection immediately"),
        (ECONNREFUSED, "refused"), (ECONNABORTED, "another program"), (ENOTCONN, "another program"),
        (EHOSTUNREACH, "gave up"),
    ])
    func `an attempt that fails later says why, and what to do`(_ error: Int32, _ cause: String) async throws {
        run.kernel.with { $0.peers[.example]?.isHere = false }
        let radio = try run.radio()
        let outcome = FakeRun.Collector<Result<any ATTLink, BLEError>>()
        let attempt = radio.connect(to: .example) { outcome.add($0) }
        // What may pass is tried again, and fails again.
        for _ in 0..<4 {
            await run.kernel.idle()
            run.kernel.fail(attemptsOf: run.kernel.central, error)
        }
        await run.kernel.idle()
        guard case .failure(let failure)? = outcome.all.first else {
            Issue.record("no failure: \(outcome.all)")
            return
        }
        #expect(failure.code == .connectionFailed && failure.cause.contains(cause) && !failure.remedy.isEmpty)
        #expect(failure.systemError == error && outcome.all.count == 1)
        attempt.cancel()
    }

    @Test func `a controller that refuses one more link is not taken for a peer that refuses`() async throws {
        let radio = try run.radio()
        let link = try await run.connect(radio, to: .example)
        let outcome = FakeRun.Collector<Result<any ATTLink, BLEError>>()
        let other = BluetoothAddress(rawValue: 0xC400_0000_0001, kind: .random)
        let attempt = radio.connect(to: other) { outcome.add($0) }
        // What may pass is tried again, and fails again.
        for _ in 0..<4 {
            await run.kernel.idle()
            run.kernel.fail(attemptsOf: run.kernel.central, ECONNREFUSED)
        }
        await run.kernel.idle()
        guard case .failure(let failure)? = outcome.all.first else {
            Issue.record("no failure: \(outcome.all)")
            return
        }
        #expect(failure.cause.contains("one more link") && failure.remedy.contains("AdapterChoice.joined"))
        link.disconnect()
        attempt.cancel()
    }

    @Test func `who finds the controller busy with another program's connection tries again`() async throws {
        run.kernel.with { $0.peers[.example]?.isHere = false }
        let radio = try run.radio()
        let outcome = FakeRun.Collector<Result<any ATTLink, BLEError>>()
        let attempt = radio.connect(to: .example) { outcome.add($0) }
        await run.kernel.idle()
        run.kernel.fail(attemptsOf: run.kernel.central, EBUSY)
        await run.kernel.idle()
        #expect(outcome.all.isEmpty)
        await peerAppears()
        try #require(try outcome.all.first?.get()).disconnect()
        attempt.cancel()
    }

    /// A peer that is heard and doesn't answer, for which the kernel waits, Linux 5.15 with an error of its own; and as
    /// with each suspension.
    @Test(arguments: [
        (ETIMEDOUT, Duration.seconds(5)), (ENOTCONN, .seconds(5)), (ECONNRESET, .seconds(600)),
    ])
    func `an attempt that the kernel ends again and again goes on for as long as the peer is wanted`(
        _ error: Int32,
        _ time: Duration
    ) async throws {
        run.kernel.with { $0.peers[.example]?.isHere = false }
        let radio = try run.radio()
        let outcome = FakeRun.Collector<Result<any ATTLink, BLEError>>()
        let attempt = radio.connect(to: .example) { outcome.add($0) }
        for _ in 0..<5 {
            await run.kernel.idle()
            let waited = run.timeline.now + time
            let pause = run.timeline.schedule(after: time) {}
            while run.timeline.now < waited, run.timeline.step(until: waited) { await run.kernel.idle() }
            withExtendedLifetime(pause) {}
            run.kernel.fail(attemptsOf: run.kernel.central, error)
        }
        await run.kernel.idle()
        #expect(outcome.all.isEmpty)
        await peerAppears()
        try #require(try outcome.all.first?.get()).disconnect()
        attempt.cancel()
    }

    /// bluetoothd also discovers devices of Bluetooth Classic, where the adapter has that.
    @Test(arguments: [true, false]) func `an attempt to connect interrupts another program's discovery of any type`(
        _ isSeen: Bool
    ) async throws {
        let number = run.kernel.central
        run.kernel.with { $0.peers[.example]?.isHere = false }
        let radio = try run.radio()
        await run.kernel.idle()
        run.kernel.with { state in
            state.adapters[number]?.isDiscovering = true
            state.adapters[number]?.discoveryType = 7
            if isSeen { state.tell(number, 0x13, [7, 1]) }
        }
        await run.kernel.idle()
        let attempt = radio.connect(to: .example) { _ in }
        await run.kernel.idle()
        #expect(run.kernel.with { $0.adapters[number]?.isDiscovering } == false)
        attempt.cancel()
        await run.kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `who cancels and connects again waits until the kernel has cleared the first attempt away`() async throws
    {
        run.kernel.with { $0.peers[.example]?.isHere = false }
        let radio = try run.radio()
        let attempt = radio.connect(to: .example) { _ in }
        await run.kernel.idle()
        attempt.cancel()
        run.kernel.with { $0.peers[.example]?.isHere = true }
        try await run.exchange(radio, with: .example)
        #expect(run.kernel.with { $0.calls[.connect] } == 2)
    }

    @Test func `a link is raised to better keys, by the person who is asked`() async throws {
        run.kernel.with { $0.peers[.example]?.pairing = .comparison(123_456) }
        let radio = try run.radio()
        radio.expectPairing(with: .example, as: .displayYesNo)
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        let asked = FakeRun.Collector<PairingQuestion>()
        let interview = PairingInterview(.displayYesNo) { question, reply in
            asked.add(question)
            reply(.accept)
        }
        let bond: Bond? = try await run.result("raising") { result in
            end.link.raise(to: .authenticated, asking: interview, result: result)
        }
        #expect(bond?.peer == .example && asked.all.count == 1)
        end.link.disconnect()
        _ = try await end.end(in: run)
    }

    @Test func `a link leaves the capability alone that another radio receives pairings with`() async throws {
        let capabilities: @Sendable () -> [UInt8] = { [run] in
            run.kernel.with { $0.adapters[run.kernel.central]?.capabilities ?? [] }
        }
        let (server, radio) = (try run.radio(), try run.radio())
        let reception = PairingReception(.displayOnly) { _ in PairingInterview(.displayOnly) { _, _ in } }
        let receiving = server.receivePairings(reception) { _ in }
        await run.kernel.idle()
        #expect(capabilities() == [0])
        radio.expectPairing(with: .example, as: .displayYesNo)
        try await run.exchange(radio, with: .example)
        #expect(capabilities() == [0])
        receiving.cancel()
        await run.kernel.idle()
        let before = capabilities()
        try await run.exchange(radio, with: .example)
        #expect(capabilities() == before + [1, 3])
    }

    /// Takes the bonds that a link tells.
    private final class Taker: ATTLinkReceiver {
        let bonds = FakeRun.Collector<Bond>()

        func linkReceived(_ pdus: consuming ReceivedPDUs) {}
        func linkDropped(_ count: Int) {}
        func linkBecameWritable() {}
        func linkPaired(_ bond: Bond) { bonds.add(bond) }
        func linkEnded(_ reason: DisconnectReason) {}
    }

    @Test func `a link tells the bond that the kernel has made at its peer's request`() async throws {
        let (radio, taker) = (try run.radio(), Taker())
        let link = try await run.connect(radio, to: .example)
        link.start(taker)
        await run.kernel.idle()
        run.kernel.with { state in
            let key: [UInt8] = [3, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)
            state.tell(run.kernel.central, 0x0A, [1] + ManagementAddress(.example).octets + key)
        }
        await run.kernel.idle()
        #expect(taker.bonds.all.map(\.peer) == [.example])
        #expect(taker.bonds.all.first?.adapter == radio.adapterInfo.address)
        link.disconnect()
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
        let capabilities: @Sendable () -> [UInt8] = { [run] in
            run.kernel.with { $0.adapters[run.kernel.central]?.capabilities ?? [] }
        }
        let radio = try run.radio()
        let facts = try #require(radio.adapter.facts)
        // What that program holds from before it sets its capability until it has put it back.
        var note = LeftoverNote(KernelThing(.capability, 0, of: facts), in: nil, of: run.kernel.kernel)
        #expect(note != nil)
        radio.expectPairing(with: .example, as: .displayYesNo)
        try await run.exchange(radio, with: .example)
        #expect(capabilities() == [])
        withExtendedLifetime(note) {}
        note = nil
        try await run.exchange(radio, with: .example)
        #expect(capabilities() == [1, 3])
    }

    @Test func `a capability is claimed on the next link to the peer alone`() async throws {
        let capabilities: @Sendable () -> [UInt8] = { [run] in
            run.kernel.with { $0.adapters[run.kernel.central]?.capabilities ?? [] }
        }
        let radio = try run.radio()
        radio.expectPairing(with: .example, as: .displayYesNo)
        try await run.exchange(radio, with: .example)
        #expect(capabilities() == [1, 3])
        // Nobody has looked for bluetoothd again, whose agent's capability this would be by now.
        try await run.exchange(radio, with: .example)
        #expect(capabilities() == [1, 3])
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

extension FakeKernel {
    /// The kernel gives up the attempts of an adapter.
    fileprivate func fail(attemptsOf adapter: UInt16, _ error: Int32) {
        with { state in
            for attempt in state.connecting(from: adapter) {
                state.objects[attempt.socket]?.l2cap?.phase = .dead
                state.objects[attempt.socket]?.error = error
                state.objects[attempt.socket]?.isHungUp = true
            }
        }
    }
}
