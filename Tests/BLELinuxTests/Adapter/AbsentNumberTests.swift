import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// The number of an adapter that is absent, which another adapter may have.
@Suite(.timeLimit(.minutes(10))) struct AbsentNumberTests {
    private static let address = 0x00AA_0101_0001

    @Test func `an adapter that is absent has no number, until it is back under another one`() throws {
        let table = TableDouble()
        table.plug(0, Self.address)
        let adapter = try LinuxAdapter("hci0", socket: nil, refusal: nil, table: table)
        #expect(adapter.isUp && adapter.presentNumber == 0)
        table.unplug(0)
        table.plug(0, Self.address + 1)
        #expect(adapter.facts == nil && adapter.presentNumber == .max)
        // It is still called what it was.
        #expect(adapter.name == "hci0")
        table.plug(1, Self.address)
        #expect(adapter.isUp && adapter.presentNumber == 1)
    }

    @Test(arguments: [false, true])
    func `the bonds of another adapter with its number are none of its own`(_ isRemovalLost: Bool) async throws {
        let run = FakeRun(kernel: FakeKernel())
        let (kernel, number) = (run.kernel, run.kernel.central)
        let radio = try run.radio()
        if isRemovalLost {
            await kernel.lose(on: number) { state in
                state.adapters[number] = nil
                state.tell(number, 0x05, [])
            }
        } else {
            kernel.unplug(number)
        }
        await kernel.idle()
        kernel.with { state in
            let address = BluetoothAddress(rawValue: 0x00AA_0200_0000 | UInt64(number), kind: .public)
            state.adapters[number] = FakeAdapter(number: number, address: address)
            state.tell(number, 0x04, [])
        }
        await kernel.idle()
        kernel.with { state in
            let key: [UInt8] = [3, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)
            state.tell(number, 0x0A, [1] + ManagementAddress(.example).octets + key)
        }
        await kernel.idle()
        #expect(!radio.keys.isKnown(.example))
        withExtendedLifetime(radio) {}
    }

    @Test func `a bond that is told together with the return of its adapter is known`() async throws {
        let run = FakeRun(kernel: FakeKernel())
        let (kernel, number) = (run.kernel, run.kernel.central)
        let radio = try run.radio()
        let address = try #require(radio.adapterInfo.address)
        kernel.unplug(number)
        await kernel.idle()
        #expect(radio.adapterInfo.state == .absent)
        kernel.with { state in
            state.adapters[number] = FakeAdapter(number: number, address: address)
            state.tell(number, 0x04, [])
            let key: [UInt8] = [3, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)
            state.tell(number, 0x0A, [1] + ManagementAddress(.example).octets + key)
        }
        await kernel.idle()
        #expect(radio.keys.isKnown(.example))
        withExtendedLifetime(radio) {}
    }

    @Test(arguments: [true, false])
    func `the removal of an adapter that has told nothing before is told, even if its absence was seen`(
        _ isBack: Bool
    ) async throws {
        let run = FakeRun(kernel: FakeKernel())
        let (kernel, number) = (run.kernel, run.kernel.central)
        let address = try #require(kernel.with { $0.adapters[number]?.address })
        let adapter = try LinuxAdapter(at: address, of: kernel.kernel)
        let radio = try LinuxRadio(on: adapter, timeline: run.timeline)
        await kernel.idle()
        if isBack {
            kernel.unplug(number)
            await kernel.idle()
            kernel.with { state in
                state.adapters[number] = FakeAdapter(number: number, address: address)
                state.tell(number, 0x04, [])
            }
            await kernel.idle()
        }
        let removed = FakeRun.Collector<UInt16>()
        let observation = try #require(radio.management).observe { events in
            for event in events { if case .indexRemoved = event.event { removed.add(number) } }
        }
        #expect(adapter.presentNumber == number)
        kernel.with { $0.adapters[number] = nil }
        #expect(adapter.facts == nil)
        kernel.with { $0.tell(number, 0x05, []) }
        await kernel.idle()
        #expect(removed.all == [number])
        observation.cancel()
        withExtendedLifetime(radio) {}
    }
}
