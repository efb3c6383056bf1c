import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// All adapters of a machine, each with one radio, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct AdapterRosterTests {
    private let run = FakeRun(kernel: FakeKernel())

    private var kernel: FakeKernel { run.kernel }

    /// A controller as the kernel lists it while it starts it: it has told neither its features nor its address.
    private static func starting(_ number: UInt16) -> FakeAdapter {
        var adapter = FakeAdapter(number: number, address: BluetoothAddress(rawValue: 0, kind: .public))
        adapter.settings.remove(.powered)
        adapter.otherFlags = 0b10
        adapter.features = [UInt8](repeating: 0, count: 8)
        return adapter
    }

    /// Two that are plugged into a hub, which loses its power for a moment, and one of which takes longer to start.
    @Test func `an adapter that is seen while it starts again keeps its radio, and gets no second one`() async throws {
        let (quick, slow) = (kernel.central, kernel.peripheral)
        let roster = try AdapterRoster(mayBeMissing: false, on: kernel.kernel, timeline: run.timeline)
        let radios = FakeRun.Collector<LinuxRadio>()
        let watch = roster.observe { radios.add($0) }
        await kernel.idle()
        let addresses = try [quick, slow].map { number in
            try #require(kernel.with { $0.adapters[number]?.address })
        }
        for times in 1...3 {
            for number in [quick, slow] { kernel.unplug(number) }
            await kernel.idle()
            #expect(radios.all.allSatisfy { $0.adapterInfo.state == .absent }, "time \(times)")
            kernel.with { state in
                state.adapters[slow] = Self.starting(slow)
                state.adapters[quick] = FakeAdapter(number: quick, address: addresses[0])
                state.tell(quick, 0x04, [])
            }
            await kernel.idle()
            kernel.with { state in
                state.adapters[slow] = FakeAdapter(number: slow, address: addresses[1])
                state.tell(slow, 0x04, [])
            }
            await kernel.idle()
            #expect(radios.all.map(\.adapterName) == [kernel.name(quick), kernel.name(slow)], "time \(times)")
            #expect(radios.all.allSatisfy { $0.adapterInfo.state == .poweredOn }, "time \(times)")
        }
        watch.cancel()
    }

    @Test func `a machine may have more adapters than libbluetooth lists`() throws {
        let first = kernel.central
        kernel.with { state in
            for number in (first + 2)..<(first + 40) {
                let address = BluetoothAddress(rawValue: 0x00AA_0200_0000 | UInt64(number), kind: .public)
                state.adapters[number] = FakeAdapter(number: number, address: address)
            }
        }
        let names = try LinuxRadio.adapters(of: kernel.kernel).map(\.name)
        #expect(names == (first..<(first + 40)).map { kernel.name($0) })
    }

    @Test func `an adapter that is seen while it starts for the first time has one radio`() async throws {
        let (first, second) = (kernel.central, kernel.peripheral)
        let address = try #require(kernel.with { $0.adapters[second]?.address })
        kernel.with { $0.adapters[second] = Self.starting(second) }
        let roster = try AdapterRoster(mayBeMissing: false, on: kernel.kernel, timeline: run.timeline)
        let radios = FakeRun.Collector<LinuxRadio>()
        let watch = roster.observe { radios.add($0) }
        await kernel.idle()
        kernel.with { state in
            state.adapters[second] = FakeAdapter(number: second, address: address)
            state.tell(second, 0x04, [])
        }
        await kernel.idle()
        #expect(radios.all.map(\.adapterInfo.name) == [kernel.name(first), kernel.name(second)])
        #expect(radios.all.map(\.adapterInfo.address).last == address)
        watch.cancel()
    }
}
