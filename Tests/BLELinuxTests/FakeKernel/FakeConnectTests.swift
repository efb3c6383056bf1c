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
