import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An adapter that is off for a moment only, and that the kernel doesn't switch on again; on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct LeftOffTests {
    private static let setPowered: UInt16 = 0x05
    private static let setPrivacy: UInt16 = 0x2F

    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.files["/proc/sys/kernel/random/boot_id"] = Array("this-boot\n".utf8)
        }
    )

    /// Switches it off and on; what the closure does happens while it is off. Returns the error.
    private func powerCycle(
        _ radio: LinuxRadio,
        whileOff body: @escaping @Sendable (inout FakeState) -> Void = { _ in }
    ) async throws -> BLEError? {
        let kernel = run.kernel
        let watch = radio.observeAdapter { info in
            if info.state == .poweredOff { kernel.with { body(&$0) } }
        }
        defer { watch.cancel() }
        let outcome: Result<Void, BLEError> = try await run.answer("cycling") { radio.powerCycle(result: $0) }
        return outcome.failure
    }

    @Test func `a power cycle leaves no adapter off because the kernel fails once`() async throws {
        let (number, radio) = (run.kernel.central, try run.radio())
        let error = try await powerCycle(radio) { $0.adapters[number]?.answers[Self.setPowered] = .failed }
        #expect(error == nil && radio.adapterInfo.state == .poweredOn)
    }

    @Test func `one that the kernel fails to switch on each time is said to be left off, with what to do`() async throws
    {
        let (number, radio) = (run.kernel.central, try run.radio())
        run.kernel.with { $0.adapters[number]?.failsToSwitchOn = true }
        let error = try await powerCycle(radio)
        #expect(error?.operation == "switch on" && error?.cause.hasSuffix("and is left off") == true)
        #expect(error?.remedy.contains("`Central.setPowered(true)`") == true)
        #expect(error?.remedy.contains("powerCycle") == false && radio.adapterInfo.state == .poweredOff)
        run.kernel.with { $0.adapters[number]?.failsToSwitchOn = false }
        try await run.result("switching on") { radio.setPowered(true, result: $0) }
        #expect(radio.adapterInfo.state == .poweredOn)
    }

    @Test func `one that rfkill blocks meanwhile is not told again, and the error names rfkill`() async throws {
        let (name, number, radio) = (run.kernel.name(run.kernel.central), run.kernel.central, try run.radio())
        let error = try await powerCycle(radio) { state in
            state.files["/sys/class/rfkill/rfkill0/name"] = Array("\(name)\n".utf8)
            state.files["/sys/class/rfkill/rfkill0/soft"] = Array("1\n".utf8)
            state.files["/sys/class/rfkill/rfkill0/hard"] = Array("0\n".utf8)
            // Once: a second command would switch it on.
            state.adapters[number]?.answers[Self.setPowered] = .failed
        }
        #expect(error?.code == .adapterBlocked && error?.cause.hasSuffix("and is left off") == true)
        #expect(error?.remedy.contains("rfkill unblock bluetooth") == true)
        #expect(error?.remedy.contains("`Central.setPowered(true)`") == true)
        #expect(radio.adapterInfo.state == .blocked)
    }

    @Test func `that it is left off is told also if what it was off for has failed`() async throws {
        let (number, radio) = (run.kernel.central, try run.radio())
        let address = try #require(radio.adapterInfo.address)
        let key = try #require(SecretKey(octets: Array(1...16)))
        let privacy = AdapterPrivacy(isOn: true, interrupts: true, keys: [address: key])
        run.kernel.with { state in
            state.adapters[number]?.answers[Self.setPrivacy] = .notSupported
            state.adapters[number]?.failsToSwitchOn = true
        }
        var error: BLEError?
        do {
            try await run.result("setting privacy") { radio.setPrivacy(privacy, result: $0) }
        } catch let failure as BLEError {
            error = failure
        }
        #expect(error?.operation == "switch on" && error?.cause.contains("is left off; before, set privacy") == true)
        #expect(radio.adapterInfo.state == .poweredOff)
    }
}
