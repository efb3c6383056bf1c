import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Settings that pairings need, which others have changed among events that were lost.
@Suite(.timeLimit(.minutes(10))) struct MissedSettingsTests {
    private let run = FakeRun(kernel: FakeKernel())
    private var kernel: FakeKernel { run.kernel }

    @Test func `a setting that pairings need is switched on again though it went off unseen`() async throws {
        let isBondable: () -> Bool = {
            kernel.with { $0.adapters[kernel.central]?.settings.contains(.bondable) == true }
        }
        let radio = try run.radio()
        let receiving = radio.receivePairings(PairingReception(.noInputNoOutput) { _ in .justWorks }) { _ in }
        await kernel.idle()
        #expect(isBondable())
        kernel.with { state in
            state.unheard { state in
                state.adapters[kernel.central]?.settings.remove(.bondable)
                state.tell(kernel.central, 0x06, [0, 0, 0, 0])
            }
            state.tellOfDevice(kernel.central)
        }
        await kernel.idle()
        #expect(isBondable())
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test func `a setting is read once more where events are lost while it is read`() async throws {
        let number = kernel.central
        let isBondable: () -> Bool = { kernel.with { $0.adapters[number]?.settings.contains(.bondable) == true } }
        let radio = try run.radio()
        let receiving = radio.receivePairings(PairingReception(.noInputNoOutput) { _ in .justWorks }) { _ in }
        await kernel.idle()
        kernel.with { state in
            // The answer may be among what is lost.
            state.adapters[number]?.silent.insert(0x04)
            state.unheard { state in
                state.adapters[number]?.settings.remove(.bondable)
                state.tell(number, 0x06, [0, 0, 0, 0])
            }
            state.tellOfDevice(number)
        }
        await kernel.idle()
        kernel.with { state in
            state.adapters[number]?.silent.remove(0x04)
            state.unheard { $0.tellOfDevice(number) }
            state.tellOfDevice(number)
        }
        let isRepaired = await kernel.run(run.timeline, within: FakeRun.patience) { isBondable() }
        #expect(isRepaired)
        receiving.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }
}
