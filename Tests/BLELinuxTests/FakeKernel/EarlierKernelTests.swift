import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What earlier kernels tell otherwise than Linux 6.12.
@Suite(.timeLimit(.minutes(10))) struct EarlierKernelTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }

    /// Linux 5.15 has a revision before 22, and 6.1 has that.
    @Test(arguments: [21, 22, 23] as [UInt8], [true, false])
    func `a controller that can't be both is known on each kernel`(
        _ revision: UInt8,
        _ combinesRoles: Bool
    ) async throws {
        let number = kernel.central
        kernel.with { state in
            state.revision = revision
            state.adapters[number]?.combinesRoles = combinesRoles
        }
        let radio = try run.radio()
        // It asks for the roles when it connects for the first time.
        try await run.exchange(radio, with: .example)
        await kernel.idle()
        #expect(radio.excludedRoles.areKnown == !combinesRoles)
        kernel.with { state in
            let central = BluetoothAddress(rawValue: 0xC0DE_0000_00FF, kind: .random)
            state.leave(FakeLink(adapter: number, peer: central, handle: 77, isCentral: false, far: nil))
        }
        #expect((radio.connectObstacle == nil) == combinesRoles)
        withExtendedLifetime(radio) {}
    }

    // MARK: - Who has made a link: Linux before 5.14 doesn't tell

    @Test func `a device that this machine has connected to is no central that another program got`() async throws {
        kernel.with { $0.tellsWhoConnects = false }
        let radio = try run.radio()
        let events = FakeRun.Collector<ListenEvent>()
        let listening = radio.listen { events.add($0) }
        await kernel.idle()
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        let isTold = await kernel.run(run.timeline, within: ListeningPlace.patience * 2) {
            events.all.contains { if case .interrupted = $0 { true } else { false } }
        }
        #expect(!isTold)
        end.link.disconnect()
        _ = try await end.end(in: run)
        listening.cancel()
        await kernel.idle()
    }

    @Test func `a device that this machine has connected to is not answered as a central that pairs`() async throws {
        let number = kernel.peripheral
        kernel.with { $0.tellsWhoConnects = false }
        let radio = try run.radio(number)
        let events = FakeRun.Collector<PairingReceptionEvent>()
        let receiving = await run.receive(.accepting, on: radio, events)
        kernel.with { $0.makeLink(of: number, isCentral: true) }
        await kernel.idle()
        kernel.with { $0.pair(ManagementAddress(.example), on: number, for: nil) }
        await kernel.idle()
        #expect(!events.all.contains { if case .paired = $0 { true } else { false } })
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `what a peripheral wants to pair, and no program answers, is refused in time`() async throws {
        let number = kernel.central
        kernel.with { state in
            state.tellsWhoConnects = false
            state.peers[.example]?.pairing = .comparison(123_456)
        }
        let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
        await kernel.idle()
        kernel.with { $0.pair(ManagementAddress(.example), on: number, for: nil) }
        let isRefused = await kernel.run(run.timeline, within: UnaskedPairings.patience * 2) {
            kernel.with { $0.adapters[number]?.pairingPeers.isEmpty } == true
        }
        #expect(isRefused)
        end.link.disconnect()
        _ = try await end.end(in: run)
    }
}
