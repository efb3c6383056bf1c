import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An advertisement that begins while its adapter has a link beside which the controller can't advertise, on a kernel
/// in memory.
@Suite(.timeLimit(.minutes(10))) struct AdvertisementBesideLinkTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }

    @Test(arguments: [true, false])
    func `it fails only for as long as the link lasts, and names the peer`(isCentral: Bool) async throws {
        let number = kernel.peripheral
        let radio = try run.radio(number)
        kernel.with { state in
            let link = FakeLink(adapter: number, peer: .example, handle: 64, isCentral: isCentral, far: nil)
            state.leave(link)
            state.tellConnected(link)
            state.adapters[number]?.answers[0x54] = .invalidParameters
        }
        await kernel.idle()
        var failure: BLEError?
        do {
            try await run.advertise(radio).cancel()
        } catch let error as BLEError {
            failure = error
        }
        #expect(failure?.code == .busy)
        #expect(failure?.isFinal == false)
        #expect(failure?.cause.contains("\(BluetoothAddress.example)") == true)
        withExtendedLifetime(radio) {}
    }
}
