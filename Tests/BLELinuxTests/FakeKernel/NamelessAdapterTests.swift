import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An adapter without a public address, beside another one: a socket for it is bound to any adapter, and the kernel
/// connects through the one that was plugged in last; on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct NamelessAdapterTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example)
            // The older one.
            guard let number = state.adapters.keys.min() else { return }
            state.adapters[number]?.address = BluetoothAddress(rawValue: 0, kind: .public)
        }
    )

    private var kernel: FakeKernel { run.kernel }

    @Test func `a link that the other one would make is none of its own`() async throws {
        let radio = try run.radio()
        do {
            _ = try await run.connect(radio, to: .example)
            Issue.record("a link of \(kernel.name(kernel.peripheral))")
        } catch let error as BLEError {
            #expect(error.code == .notSupported && error.cause.contains("through \(kernel.name(kernel.peripheral))"))
            #expect(error.remedy.contains("in place of \(kernel.name(kernel.central))"))
        }
        await kernel.idle()
        let hasLink = kernel.with { [number = kernel.peripheral] in $0.link(of: number, with: .example) != nil }
        #expect(!hasLink)
        withExtendedLifetime(radio) {}
    }

    @Test func `a central of the other one is none of its own, though it has begun to listen later`() async throws {
        // No other test's.
        let third: UInt16 = 65_000
        kernel.with { state in
            state.peers = [:]
            let address = BluetoothAddress(rawValue: 0x00AA_0300_0000 | UInt64(third), kind: .public)
            state.adapters[third] = FakeAdapter(number: third, address: address)
        }
        let (nameless, other) = (try run.radio(), try run.radio(kernel.peripheral))
        let (own, others) = (FakeRun.Collector<ListenEvent>(), FakeRun.Collector<ListenEvent>())
        let earlier = other.listen { others.add($0) }
        await kernel.idle()
        let later = nameless.listen { own.add($0) }
        await kernel.idle()
        let advertisement = try await run.advertise(other)
        let central = try run.radio(third)
        let link = try await run.connect(central, to: try #require(other.adapterInfo.address))
        await kernel.idle()
        func hasLink(_ events: FakeRun.Collector<ListenEvent>) -> Bool {
            events.all.contains { if case .accepted = $0 { true } else { false } }
        }
        #expect(hasLink(others) && !hasLink(own))
        link.disconnect()
        for activity in [earlier, later, advertisement] { activity.cancel() }
        await kernel.idle()
        withExtendedLifetime((nameless, other, central)) {}
    }

    @Test func `it connects where the other one is off`() async throws {
        kernel.with { [number = kernel.peripheral] in $0.switchOff(number, by: nil) }
        try await run.exchange(run.radio(), with: .example)
    }
}
