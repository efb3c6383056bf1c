import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// Keys that a bluetoothd has removed from the kernel which is gone again when they are loaded next, on a bus that is
/// made by hand.
@Suite(.timeLimit(.minutes(10)), .needsLibDBus) struct PassingBluetoothdTests {
    private let bus: FakeBus
    private let kernel: KernelDouble
    private let keys: KernelKeys
    /// An adapter that nobody else has: claims are of the whole machine.
    private let adapter = "hci\(UInt64.random(in: 1000 ... .max))"

    init() throws {
        bus = try FakeBus(on: EventLoop(name: "test-bus"))
        kernel = try KernelDouble()
        keys = KernelKeys(management: kernel.management)
    }

    private static let bond = KernelDouble.bond

    /// Loads the bond, as each link does; bluetoothd is not there.
    private func load() -> Events<Bool> {
        Events { [kernel, keys, adapter] yield in
            kernel.loop.enqueue {
                keys.load([Self.bond], on: adapter, current: nil, bluetoothd: .absent) { outcome in
                    if case .success = outcome { yield(true) } else { yield(false) }
                }
            }
            return RadioActivity {}
        }
    }

    @Test func `what was given is given again after each bluetoothd that has come and gone`() async throws {
        // Each link asks for it; there is one watch.
        for _ in 1...2 {
            kernel.loop.enqueue { [kernel, keys, bus] in
                keys.watchBluetoothd(over: bus.bus, loop: kernel.loop, timeline: kernel.timeline)
            }
        }
        bus.send(.reply(to: try await bus.next("Hello").serial, ":1.9"))
        bus.send(.reply(to: try await bus.next("AddMatch").serial))
        for number in 1...2 {
            let end = load()
            #expect(try await kernel.answer()?.opcode == .loadIdentityResolvingKeys)
            #expect(try await kernel.answer()?.opcode == .loadLongTermKeys)
            #expect(await end.next() == true)
            #expect(await load().next() == true, "the kernel has it")
            bus.send(.ownerChanged(["org.bluez", "", ":1.\(number + 20)"]))
            bus.send(.ownerChanged(["org.bluez", ":1.\(number + 20)", ""]))
            while keys.isKnown(Self.bond.peer) { await Task.yield() }
        }
    }
}
