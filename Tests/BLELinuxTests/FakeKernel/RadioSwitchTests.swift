import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A switch that blocks an adapter which is in use, and no longer; on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct RadioSwitchTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example)
            state.files["/dev/rfkill"] = []
        }
    )

    private var kernel: FakeKernel { run.kernel }

    /// Blocks the adapter, which is off then, or lifts the block, after which it stays off.
    private func turn(_ which: String, isBlocking: Bool) async {
        kernel.with { [kernel, number = kernel.central] state in
            state.files["/sys/class/rfkill/rfkill0/name"] = Array("\(kernel.name(number))\n".utf8)
            for kind in ["soft", "hard"] {
                let octets = Array((isBlocking && kind == which ? "1\n" : "0\n").utf8)
                state.files["/sys/class/rfkill/rfkill0/\(kind)"] = octets
            }
            if isBlocking { state.switchOff(number, by: nil) }
            for (descriptor, object) in state.objects {
                if case .file = object.kind { state.deliver([UInt8](repeating: 0, count: 8), to: descriptor) }
            }
        }
        await kernel.idle()
    }

    @Test(arguments: ["soft", "hard"])
    func `it ends what the adapter does, and what its error says makes the adapter usable again`(
        _ which: String
    ) async throws {
        let radio = try run.radio()
        let states = FakeRun.Collector<AdapterInfo.State>()
        let watch = radio.observeAdapter { states.add($0.state) }
        let scans = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest()) { scans.add($0) }
        await kernel.idle()
        await turn(which, isBlocking: true)
        let error = scans.all.compactMap { if case .failed(let error) = $0 { error } else { nil } }.first
        #expect(error?.code == .adapterBlocked && error?.isFinal == false, "\(String(describing: error))")
        await turn(which, isBlocking: false)
        #expect(states.all == [.poweredOn, .blocked, .poweredOff])
        // Nobody else switches it on where no bluetoothd runs.
        #expect(error?.remedy.contains("then switch the adapter on with `Central.setPowered(true)`") == true)
        try await run.result("switching on") { radio.setPowered(true, result: $0) }
        #expect(states.all.last == .poweredOn)
        try await run.hear(radio, ScanRequest())
        scan.cancel()
        watch.cancel()
    }

    @Test(arguments: [RadioSwitches.Block.soft, .hard])
    func `one that has taken the adapter away gives it back switched off, and the error says so`(
        _ block: RadioSwitches.Block
    ) {
        let cut = RadioSwitches.Cut(name: "tpacpi_bluetooth_sw", block: block)
        let error = BLEError.noAdapter(operation: "open", object: "the default adapter", cut: cut)
        #expect(error.code == .adapterBlocked)
        #expect(error.remedy.contains("switch the adapter on with `Central.setPowered(true)`"))
    }
}
