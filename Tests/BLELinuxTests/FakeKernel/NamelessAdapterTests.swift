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

    @Test func `it connects where the other one is off`() async throws {
        kernel.with { [number = kernel.peripheral] in $0.switchOff(number, by: nil) }
        try await run.exchange(run.radio(), with: .example)
    }
}
