import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A link that an earlier program has left, as the kernel holds it for two seconds, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct FormerLinkTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example)
            state.holdsLinks = true
        }
    )

    private func connect(_ radio: LinuxRadio) async throws -> FakeRun.End {
        FakeRun.End(try await run.connect(radio, to: .example))
    }

    /// Leaves a link, and returns its handle.
    private func leaveLink(asCentral isCentral: Bool = true) -> UInt16 {
        run.kernel.with { state in
            let link = FakeLink(
                adapter: run.kernel.central,
                peer: .example,
                handle: state.nextHandle,
                isCentral: isCentral,
                far: nil
            )
            state.nextHandle += 1
            state.leave(link)
            return link.handle
        }
    }

    /// The handle of the link that some socket has.
    private var handle: UInt16? {
        run.kernel.with { $0.link(of: run.kernel.central, with: .example)?.link.handle }
    }

    @Test func `it ends where this program may end it, and there is a new one`() async throws {
        let former = leaveLink()
        let end = try await connect(run.radio())
        #expect(!end.link.isResumed)
        #expect(handle.map { $0 > former } == true)
        end.link.disconnect()
        #expect(try await end.end(in: run).kind == .closedLocally)
        #expect(handle == nil)
    }

    @Test func `without the capability it is taken over`() async throws {
        run.kernel.with { $0.isAdministrator = false }
        let former = leaveLink()
        let end = try await connect(run.radio())
        #expect(end.link.isResumed)
        #expect(handle == former)
    }

    @Test func `on a kernel that may end the thread which closes a dead socket it is taken over`() async throws {
        run.kernel.with { $0.release = "6.1.0-56-amd64" }
        let former = leaveLink()
        let end = try await connect(run.radio())
        #expect(end.link.isResumed)
        #expect(handle == former)
    }

    @Test func `it is taken over if it can't be ended, and is not asked to end again`() async throws {
        let radio = try run.radio()
        let former = leaveLink()
        run.kernel.with { $0.refusesDisconnecting = true }
        let end = try await connect(radio)
        #expect(end.link.isResumed)
        #expect(handle == former)
    }

    @Test func `one that the peer has made is nobody's that has ended`() async throws {
        let former = leaveLink(asCentral: false)
        let end = try await connect(run.radio())
        #expect(end.link.isResumed)
        #expect(handle == former)
    }

    @Test func `an attempt that is given up meanwhile leaves nothing, and the next one has a new link`() async throws {
        let radio = try run.radio()
        for calls in 1...20 {
            let former = leaveLink()
            let outcome = FakeRun.Collector<Result<any ATTLink, BLEError>>()
            let attempt = radio.connect(to: .example) { outcome.add($0) }
            run.kernel.with { $0.moments.append((calls, { attempt.cancel() })) }
            await run.kernel.idle()
            attempt.cancel()
            for case .success(let link) in outcome.all { link.disconnect() }
            await run.kernel.idle()
            let end = try await connect(radio)
            #expect(!end.link.isResumed && handle.map { $0 > former } == true, "given up after \(calls) calls")
            end.link.disconnect()
            _ = try await end.end(in: run)
            #expect(handle == nil)
        }
    }

    @Test func `when an attempt is given up meanwhile, the next one waits until the former link has ended`()
        async throws
    {
        let radio = try run.radio()
        _ = leaveLink()
        await run.kernel.idle()
        run.kernel.with { $0.adapters[run.kernel.central]?.silent = [0x14] }
        let first = radio.connect(to: .example) { _ in }
        await run.kernel.idle()
        let calls = run.kernel.with { $0.calls[.connect] }
        first.cancel()
        let outcome = FakeRun.Collector<Result<any ATTLink, BLEError>>()
        let second = radio.connect(to: .example) { outcome.add($0) }
        await run.kernel.idle()
        // The command has no answer yet.
        #expect(run.kernel.with { $0.calls[.connect] } == calls && outcome.all.isEmpty)
        run.kernel.with { $0.adapters[run.kernel.central]?.silent = [] }
        let link = try await outcome.first("connecting", in: run) { try $0.get() }
        #expect(!link.isResumed)
        second.cancel()
        link.disconnect()
    }

    @Test func `it is taken over where a central is in the way of a new one`() async throws {
        let radio = try run.radio()
        run.kernel.with { $0.adapters[run.kernel.central]?.combinesRoles = false }
        // It asks for the roles when it connects for the first time.
        let earlier = radio.connect(to: BluetoothAddress(rawValue: 0xC0DE_0000_00EE, kind: .random)) { _ in }
        await run.kernel.idle()
        earlier.cancel()
        await run.kernel.idle()
        let former = leaveLink()
        let central = BluetoothAddress(rawValue: 0xC0DE_0000_00FF, kind: .random)
        run.kernel.with { state in
            let link = FakeLink(
                adapter: run.kernel.central,
                peer: central,
                handle: state.nextHandle,
                isCentral: false,
                far: nil
            )
            state.nextHandle += 1
            state.leave(link)
        }
        let end = try await connect(radio)
        #expect(end.link.isResumed)
        #expect(handle == former)
    }
}
