import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An adapter whose address changes while a program uses it; the test is the kernel.
@Suite struct RewrittenAddressTests {
    private static let (placeholder, written, other) = (0xAAAA_AAAA_AAAA, 0x00AA_0101_0001, 0x00AA_0101_0002)
    private let kernel = TableDouble()

    private func address(_ value: Int) -> BluetoothAddress {
        BluetoothAddress(rawValue: UInt64(value), kind: .public)
    }

    private func open(_ name: String? = "hci0") throws -> LinuxAdapter {
        let adapter = try LinuxAdapter(name, socket: nil, refusal: nil, table: kernel)
        _ = adapter.info
        return adapter
    }

    @Test(arguments: ["hci0", nil])
    func `an adapter whose address is written while it is there is the same one`(_ name: String?) throws {
        kernel.plug(0, Self.placeholder)
        let adapter = try open(name)
        kernel.write(Self.written, to: 0)
        #expect(adapter.info == AdapterInfo(name: "hci0", address: address(Self.written), state: .poweredOn))
        // It is known by that one from now on.
        kernel.unplug(0)
        kernel.plug(0, Self.placeholder)
        #expect(adapter.info.state == .absent)
        kernel.plug(1, Self.written)
        #expect(adapter.info.name == "hci1" && adapter.info.state == .poweredOn)
    }

    @Test func `so is one that was opened by its address, and one whose address is written twice`() throws {
        kernel.plug(0, Self.other)
        kernel.plug(1, Self.placeholder)
        let adapter = LinuxAdapter(at: address(Self.placeholder), socket: nil, table: kernel)
        #expect(adapter.info.name == "hci1")
        for value in [Self.written, Self.placeholder, Self.written] {
            kernel.write(value, to: 1)
            #expect(adapter.info == AdapterInfo(name: "hci1", address: address(value), state: .poweredOn))
        }
    }

    @Test func `a controller keeps its place while its address is written away and no valid one is there yet`() throws {
        kernel.plug(0, Self.placeholder)
        let adapter = try open()
        kernel.write(0, to: 0)
        #expect(adapter.info.name == "hci0" && adapter.info.state == .poweredOn)
        kernel.write(Self.written, to: 0)
        #expect(adapter.info.address == address(Self.written))
    }

    @Test func `another adapter under the same number is another one`() throws {
        kernel.plug(0, Self.written)
        let adapter = try open()
        kernel.unplug(0)
        kernel.plug(0, Self.other)
        #expect(adapter.info.state == .absent)
        // The number is another one's: what is missing is named by its address.
        let error = adapter.whyUnusable(for: "scan", object: "hci0")
        #expect(error.cause == "there is no adapter with the address \(address(Self.written))")
        #expect(error.remedy.contains("hci0"))
        kernel.plug(1, Self.written)
        #expect(adapter.info.name == "hci1" && adapter.info.address == address(Self.written))
    }

    @Test func `an adapter that takes over the former address is not taken for it`() throws {
        kernel.plug(0, Self.written)
        let adapter = try open()
        kernel.write(Self.other, to: 0)
        kernel.plug(1, Self.written)
        #expect(adapter.info.name == "hci0" && adapter.info.address == address(Self.other))
    }

    @Test func `what is plugged in anew can be followed anew`() throws {
        kernel.plug(0, Self.written)
        let adapter = try open()
        kernel.unplug(0)
        kernel.plug(0, Self.written)
        #expect(adapter.info.state == .poweredOn)
        kernel.write(Self.other, to: 0)
        #expect(adapter.info.address == address(Self.other))
    }

    @Test func `one that is gone is let go, so that its number can be given away`() throws {
        kernel.plug(0, Self.written)
        let adapter = try open()
        #expect(kernel.grips == 1)
        _ = adapter.info
        #expect(kernel.grips == 1)
        kernel.unplug(0)
        #expect(adapter.info.state == .absent && kernel.grips == 0)
    }

    @Test func `one that was gone meanwhile is known to have been, and no other one`() throws {
        kernel.plug(0, Self.written)
        let adapter = try open()
        kernel.write(Self.other, to: 0)
        kernel.power(0, false)
        #expect(adapter.removals == 0)
        kernel.unplug(0)
        kernel.plug(0, Self.other)
        #expect(adapter.removals == 1)
        kernel.unplug(0)
        #expect(adapter.removals == 2)
        kernel.plug(1, Self.other)
        #expect(adapter.removals == 2 && adapter.info.name == "hci1")
    }

    /// A program that has no descriptor left at the moment of a reset can't hold what has come back.
    @Test func `one that was gone while nothing could be held is known to have been as soon as it can be`() throws {
        kernel.plug(0, Self.written)
        let adapter = try open()
        kernel.unplug(0)
        kernel.plug(0, Self.written)
        kernel.refusesGrips()
        #expect(adapter.info.state == .poweredOn)
        kernel.refusesGrips(false)
        #expect(adapter.removals == 1)
        #expect(adapter.removals == 1 && kernel.grips == 1)
    }

    @Test func `one that waits for its address says so, and is the same one once it has it`() throws {
        kernel.plug(0, Self.placeholder)
        let adapter = try open()
        kernel.setUnconfigured(0, true)
        let error = adapter.whyUnusable(for: "scan", object: "hci0")
        #expect(error.code == .adapterNotReady && error.cause.contains("no address"))
        #expect(error.remedy.contains("btmgmt --index hci0 public-addr"))
        kernel.write(Self.written, to: 0)
        kernel.setUnconfigured(0, false)
        #expect(adapter.info == AdapterInfo(name: "hci0", address: address(Self.written), state: .poweredOn))
    }

    @Test func `where it can not be held it is known by its address alone`() throws {
        kernel.plug(0, Self.written)
        kernel.refusesGrips()
        let adapter = try open()
        #expect(adapter.info.state == .poweredOn)
        kernel.write(Self.other, to: 0)
        #expect(adapter.info.state == .absent)
    }
}
