import BLEProtocol
import BLERadio
import Synchronization
import Testing

@testable import BLELinux

/// A link that is made just when the attempt is given up: the controller has it, and the kernel has forgotten it.
@Suite(.timeLimit(.minutes(10))) struct ForgottenLinkTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            // Nobody finds the peer: it is awaited first, and connected then.
            state.peers[.example] = FakePeer(address: .example, isHere: false)
            state.forgetsLinks = true
        }
    )

    private var kernel: FakeKernel { run.kernel }
    private var forgotten: Int { kernel.with { $0.adapters[kernel.central]?.forgotten.count ?? 0 } }

    /// Begins to connect, and gives that up.
    private func connectInVain(_ radio: LinuxRadio) async {
        let attempt = radio.connect(to: .example) { _ in }
        await kernel.idle()
        attempt.cancel()
        await kernel.idle()
    }

    private func isForgotten(within time: Duration) async -> Bool {
        !(await kernel.run(run.timeline, within: time) { forgotten == 0 })
    }

    @Test func `the link ends, and the next attempt finds the peer`() async throws {
        let radio = try run.radio()
        await connectInVain(radio)
        #expect(forgotten == 1)
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        #expect(forgotten == 0)
        end.link.disconnect()
        #expect(try await end.end(in: run).kind == .closedLocally)
    }

    private final class Pending: Sendable {
        let attempt = Mutex<ConnectAttempt?>(nil)
    }

    @Test func `an attempt that is given up while the kernel is asked leaves no link`() async throws {
        let radio = try run.radio()
        let pending = Pending()
        let attempt = ConnectAttempt(
            to: .example,
            from: radio.adapter,
            peers: radio.connecting,
            settling: radio.settling,
            forgotten: radio.forgotten,
            stuck: radio.stuck,
            excludedRoles: radio.excludedRoles,
            loop: radio.loop,
            environment: radio,
            prepare: {
                radio.monitor.open()
                return { pending.attempt.withLock { $0.take() }?.cancel() }
            },
            result: { _ in }
        )
        pending.attempt.withLock { $0 = attempt }
        radio.loop.enqueue { attempt.begin() }
        await kernel.idle()
        #expect(forgotten == 1)
        #expect(await !isForgotten(within: .seconds(10)))
        withExtendedLifetime((radio, attempt)) {}
    }

    @Test func `a link that the kernel knows is left alone`() async throws {
        let radio = try run.radio()
        let other = BluetoothAddress(rawValue: 0xC0_00_00_00_00_0B, kind: .random)
        kernel.with { $0.peers[other] = FakePeer(address: other) }
        let end = FakeRun.End(try await run.connect(radio, to: other))
        await connectInVain(radio)
        #expect(await !isForgotten(within: .seconds(10)))
        #expect(try await end.send([0x0A, 3, 0], in: run))
        #expect(try await end.pdu(in: run) == [0x0A, 3, 0])
        end.link.disconnect()
        _ = try await end.end(in: run)
    }

    @Test func `a link that the kernel may hear of in a moment is left until the next look`() async throws {
        let radio = try run.radio()
        kernel.with { $0.forgetsLinks = false }
        await connectInVain(radio)
        kernel.with { $0.forgetsLinks = true }
        // The first attempt's look is half a second behind the second attempt's end.
        var isLater = false
        let later = run.timeline.schedule(after: .seconds(1.5)) {}
        while !isLater, run.timeline.step(until: .seconds(1.5)) { isLater = run.timeline.now == .seconds(1.5) }
        await connectInVain(radio)
        #expect(await isForgotten(within: .seconds(1)))
        #expect(await !isForgotten(within: .seconds(2)))
        withExtendedLifetime((radio, later)) {}
    }

    /// LE Create Connection.
    private static let request: [UInt8] = [0x01, 0x0D, 0x20, 25] + [UInt8](repeating: 0, count: 25)
    /// LE Connection Complete with Connection Failed to be Established.
    private static let failure: [UInt8] = [0x04, 0x3E, 19, 0x01, 0x3E] + [UInt8](repeating: 0, count: 17)

    private func tellRaw(_ packet: [UInt8]) { kernel.with { $0.tellRaw(kernel.central, packet, scans: false) } }

    /// The kernel would take the command's end for that of its own attempt.
    @Test func `no link is ended while the kernel makes another one`() async throws {
        let radio = try run.radio()
        await connectInVain(radio)
        tellRaw(Self.request)
        #expect(await isForgotten(within: .seconds(10)))
        tellRaw(Self.failure)
        #expect(await !isForgotten(within: .seconds(3)))
        withExtendedLifetime(radio) {}
    }

    @Test func `while the kernel makes another link none is looked for, and at its end at once`() async throws {
        let radio = try run.radio()
        await connectInVain(radio)
        tellRaw(Self.request)
        // The look that finds the other attempt.
        #expect(await isForgotten(within: .seconds(3)))
        let looks = kernel.with { $0.calls[.connectionList] }
        #expect(await isForgotten(within: .seconds(20)))
        #expect(kernel.with { $0.calls[.connectionList] } == looks)
        tellRaw(Self.failure)
        await kernel.idle()
        #expect(forgotten == 0)
        withExtendedLifetime(radio) {}
    }

    @Test func `a link that comes of the other attempt ends the wait, too, and stays`() async throws {
        let radio = try run.radio()
        await connectInVain(radio)
        tellRaw(Self.request)
        #expect(await isForgotten(within: .seconds(3)))
        let link = FakeLink(adapter: kernel.central, peer: .example, handle: 0x0EEE, isCentral: true, far: nil)
        kernel.with { $0.reportConnected(link) }
        await kernel.idle()
        #expect(forgotten == 0)
        #expect(kernel.with { $0.calls[.hciCommand] } == 1)
        withExtendedLifetime(radio) {}
    }

    /// A command that the controller refuses has no report.
    @Test func `another attempt whose end is not reported delays the end no longer than it may last`() async throws {
        let radio = try run.radio()
        await connectInVain(radio)
        tellRaw(Self.request)
        #expect(await isForgotten(within: .seconds(20)))
        #expect(await !isForgotten(within: .seconds(30)))
        withExtendedLifetime(radio) {}
    }

    /// The kernel knows none of its links, and has no management of the adapter.
    @Test func `no link is ended of a program that has the controller for itself`() async throws {
        let radio = try run.radio()
        await connectInVain(radio)
        kernel.with { $0.adapters[kernel.central]?.answers[0x04] = .invalidIndex }
        #expect(await isForgotten(within: .seconds(10)))
        #expect(kernel.with { $0.calls[.hciCommand] } == nil)
        withExtendedLifetime(radio) {}
    }

    /// The command that ends the link goes through the controller of the scan, whose commands need the same capability.
    @Test func `a scan by HCI goes on beside the end of the link, and hears the peer`() async throws {
        kernel.with { $0.isAdministrator = false }
        let isScanning: () -> Bool = {
            kernel.with { $0.adapters[kernel.central]?.isScanningByHCI == true }
        }
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest()) { events.add($0) }
        await kernel.idle()
        #expect(isScanning())
        let commands = kernel.with { $0.calls[.hciCommand] ?? 0 }
        await connectInVain(radio)
        #expect(forgotten == 1)
        let isHeard = await kernel.run(run.timeline, within: .seconds(10)) {
            events.all.contains { event in
                guard case .reports(let reports) = event else { return false }
                return reports.contains { $0.address == .example }
            }
        }
        #expect(isHeard && forgotten == 0)
        // The one that ends the link; the scan has not begun anew.
        #expect(kernel.with { $0.calls[.hciCommand] } == commands + 1)
        #expect(isScanning())
        scan.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a link whose end was missed is asked to end once, not after each attempt`() async throws {
        let radio = try run.radio()
        kernel.with { $0.forgetsLinks = false }
        await connectInVain(radio)
        let link = FakeLink(adapter: kernel.central, peer: .example, handle: 0x0EEE, isCentral: true, far: nil)
        kernel.with { $0.reportConnected(link) }
        for _ in 0..<3 {
            await connectInVain(radio)
            _ = await kernel.run(run.timeline, within: .seconds(10)) { false }
        }
        #expect(kernel.with { $0.calls[.hciCommand] } == 1)
        withExtendedLifetime(radio) {}
    }

    @Test func `without the capability nothing is sent`() async throws {
        kernel.with { $0.isRaw = false }
        let radio = try run.radio()
        await connectInVain(radio)
        #expect(await isForgotten(within: .seconds(10)))
        #expect(kernel.with { $0.calls[.hciCommand] } == nil)
        withExtendedLifetime(radio) {}
    }
}
