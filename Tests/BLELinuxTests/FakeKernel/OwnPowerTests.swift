import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An advertisement whose adapter this very program switches off, on a kernel in memory: the kernel doesn't send a
/// program the events of its own commands.
@Suite(.timeLimit(.minutes(10))) struct OwnPowerTests {
    private let run = FakeRun(kernel: FakeKernel())

    /// The errors of an advertisement during whose time something is done with the radio.
    private func failures(
        isConnectable: Bool,
        _ act: (LinuxRadio) async throws -> Void
    ) async throws -> [BLEError.Code] {
        let radio = try run.radio()
        let events = FakeRun.Collector<AdvertiseEvent>()
        let request = AdvertiseRequest([.localName("fake")], isConnectable: isConnectable)
        let advertisement = radio.advertise(request) { events.add($0) }
        await run.kernel.idle()
        try await act(radio)
        await run.kernel.idle()
        advertisement.cancel()
        await run.kernel.idle()
        return events.all.compactMap { if case .failed(let error) = $0 { error.code } else { nil } }
    }

    @Test(arguments: [true, false])
    func `it ends with the adapter, and says so`(_ isConnectable: Bool) async throws {
        let failures = try await failures(isConnectable: isConnectable) { radio in
            try await run.result("switching off") { radio.setPowered(false, result: $0) }
        }
        #expect(failures == [.adapterPoweredOff])
    }

    @Test(arguments: [true, false])
    func `it ends with a power cycle, which removes it from the kernel`(_ isConnectable: Bool) async throws {
        let failures = try await failures(isConnectable: isConnectable) { radio in
            let outcome: Result<Void, BLEError> = try await run.answer("cycling") { radio.powerCycle(result: $0) }
            try outcome.get()
        }
        #expect(failures == [.adapterPoweredOff])
    }
}
