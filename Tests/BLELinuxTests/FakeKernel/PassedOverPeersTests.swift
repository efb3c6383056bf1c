import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Peers that the kernel has passed over since a central was in the way, once that central is gone.
@Suite(.timeLimit(.minutes(10))) struct PassedOverPeersTests {
    private static let inTheWay = BluetoothAddress(rawValue: 0xC0DE_0000_00FF, kind: .random)

    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }
    private var calls: Int { kernel.with { $0.calls[.connect] ?? 0 } }

    /// What the kernel tells of discoveries from now on: whether one has begun, or ended.
    private func discoveries(of radio: LinuxRadio) -> (told: FakeRun.Collector<Bool>, observation: RadioActivity?) {
        let told = FakeRun.Collector<Bool>()
        let observation = radio.management?.observe { events in
            for case .discovering(_, let isOn) in events.map(\.event) { told.add(isOn) }
        }
        return (told, observation)
    }

    /// Waits for an absent peer, while a central comes and goes. Calls a closure just before that goes.
    private func wait(_ body: (LinuxRadio) async throws -> Void) async throws {
        let number = kernel.central
        kernel.with { state in
            state.adapters[number]?.combinesRoles = false
            state.peers[.example]?.isHere = false
        }
        let radio = try run.radio()
        let attempt = radio.connect(to: .example) { _ in }
        await kernel.idle()
        #expect(radio.excludedRoles.areKnown)
        kernel.with { $0.makeLink(of: number, with: Self.inTheWay, isCentral: false) }
        await kernel.idle()
        try await body(radio)
        attempt.cancel()
        await kernel.idle()
    }

    @Test func `the kernel is asked to listen anew, and no attempt is withdrawn for that`() async throws {
        try await wait { radio in
            let (told, observation) = discoveries(of: radio)
            let before = calls
            kernel.endLinks(of: Self.inTheWay)
            await kernel.idle()
            _ = await kernel.run(run.timeline, within: .seconds(2)) { false }
            #expect(told.all == [true, false])
            #expect(calls == before)
            observation?.cancel()
        }
    }

    @Test func `a discovery that is under way is interrupted for that`() async throws {
        try await wait { radio in
            let events = FakeRun.Collector<ScanEvent>()
            let scanning = radio.scan(ScanRequest()) { events.add($0) }
            await kernel.idle()
            let before = calls
            let (told, observation) = discoveries(of: radio)
            kernel.endLinks(of: Self.inTheWay)
            await kernel.idle()
            _ = await kernel.run(run.timeline, within: .seconds(2)) { told.all.count >= 2 }
            #expect(told.all.first == false)
            #expect(calls == before)
            observation?.cancel()
            scanning.cancel()
        }
    }

    @Test func `a program that may not ask for that makes its attempt anew`() async throws {
        kernel.with { $0.isAdministrator = false }
        try await wait { _ in
            let before = calls
            kernel.endLinks(of: Self.inTheWay)
            await kernel.idle()
            let isAnew = await kernel.run(run.timeline, within: .seconds(2)) { calls == before + 1 }
            #expect(isAnew)
        }
    }
}
