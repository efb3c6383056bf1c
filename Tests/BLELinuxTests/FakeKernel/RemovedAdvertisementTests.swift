import BLEProtocol
import BLERadio
import Synchronization
import Testing

@testable import BLELinux

/// An advertisement that another program removes, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct RemovedAdvertisementTests {
    private let run = FakeRun(kernel: FakeKernel { _ in })

    private var kernel: FakeKernel { run.kernel }

    private var isOnAir: Bool {
        kernel.with { $0.adapters[kernel.peripheral]?.instances.values.contains(where: \.isOnAir) == true }
    }

    /// Another program removes what is on air.
    private func remove() {
        kernel.with { state in
            let instances = state.adapters[kernel.peripheral]?.instances.keys.sorted() ?? []
            state.adapters[kernel.peripheral]?.instances = [:]
            for instance in instances { state.tell(kernel.peripheral, 0x24, [instance]) }
        }
    }

    @Test func `one that is removed again and again is given up, and the error says how to find out by whom`()
        async throws
    {
        let radio = try run.radio(kernel.peripheral)
        let errors = Mutex<[BLEError]>([])
        let request = AdvertiseRequest([.localName("fake")], interval: .milliseconds(100) ... .milliseconds(150))
        let advertisement = radio.advertise(request) { event in
            if case .failed(let error) = event { errors.withLock { $0.append(error) } }
        }
        for removals in 0...AdvertisementMachine.patience {
            let isBack = await kernel.run(run.timeline, within: .seconds(60)) { isOnAir }
            #expect(isBack && errors.withLock { $0.isEmpty }, "\(removals)")
            remove()
        }
        await kernel.idle()
        #expect(!isOnAir)
        let error = errors.withLock { $0.first }
        #expect(error?.code == .busy && error?.operation == "advertise" && error?.object.hasPrefix("hci") == true)
        #expect(error?.cause.contains("it was put back \(AdvertisementMachine.patience) times") == true)
        #expect(error?.remedy.contains("sudo btmon") == true)
        #expect(errors.withLock { $0.count } == 1)
        advertisement.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
