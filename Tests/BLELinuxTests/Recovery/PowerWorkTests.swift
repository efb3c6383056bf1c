import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// When a program may end that switches its adapter: not while a command for the power waits to be repeated; on a
/// kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct PowerWorkTests {
    private static let setPowered: UInt16 = 0x05

    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.files["/proc/sys/kernel/random/boot_id"] = Array("this-boot\n".utf8)
        }
    )

    private func settle(_ radio: LinuxRadio) async throws {
        _ = try await run.first("settling") { (yield: @escaping @Sendable (Bool) -> Void) in
            radio.settle { yield(true) }
        } _: {
            $0
        }
    }

    @Test func `a radio is not settled while its adapter is off only for a moment`() async throws {
        let radio = try run.radio()
        let (kernel, number) = (run.kernel, run.kernel.central)
        await kernel.idle()
        let watch = radio.observeAdapter { info in
            guard info.state == .poweredOff else { return }
            // That it is switched on again is refused at first.
            kernel.with { $0.adapters[number]?.answers[Self.setPowered] = .busy }
        }
        radio.powerCycle { _ in }
        await kernel.idle()
        watch.cancel()
        #expect(radio.adapterInfo.state == .poweredOff)
        try await settle(radio)
        #expect(radio.adapterInfo.state == .poweredOn)
    }

    @Test func `nor while a command that nobody waits for any more is to be repeated`() async throws {
        let radio = try run.radio()
        let (kernel, number) = (run.kernel, run.kernel.central)
        kernel.with { $0.adapters[number]?.answers[Self.setPowered] = .busy }
        radio.setPowered(false) { _ in }.cancel()
        await kernel.idle()
        #expect(radio.adapterInfo.state == .poweredOn)
        try await settle(radio)
        #expect(radio.adapterInfo.state == .poweredOff)
    }

    @Test func `nor while a change of privacy that nobody waits for any more has left it off`() async throws {
        let radio = try run.radio()
        let (kernel, number) = (run.kernel, run.kernel.central)
        let address = try #require(radio.adapterInfo.address)
        let key = try #require(SecretKey(octets: Array(1...16)))
        let privacy = AdapterPrivacy(isOn: true, keys: [address: key])
        kernel.with { $0.adapters[number]?.failsToSwitchOn = true }
        radio.setPrivacy(privacy) { _ in }.cancel()
        await kernel.idle()
        #expect(radio.adapterInfo.state == .poweredOff)
        kernel.with { $0.adapters[number]?.failsToSwitchOn = false }
        try await settle(radio)
        let isPrivate = kernel.with { $0.adapters[number]?.settings.contains(.privacy) }
        #expect(radio.adapterInfo.state == .poweredOn && isPrivate == true)
    }
}
