import BLEProtocol
import BLERadio
import Synchronization

@testable import BLELinux

/// The kernel's list of adapters, in a test's hands.
final class TableDouble: AdapterTable {
    private struct State {
        var adapters: [UInt16: (facts: AdapterFacts, serial: Int)] = [:]
        var serial = 0
        var grips = 0
        var refusesGrips = false
    }

    private struct Grip: AdapterGrip {
        let number: UInt16
        let serial: Int
        let table: TableDouble
        let count: Count

        var isThere: Bool { table.state.withLock { $0.adapters[number]?.serial == serial } }
    }

    /// Counts who has hold of something.
    private final class Count: Sendable {
        let table: TableDouble

        init(_ table: TableDouble) {
            self.table = table
            table.state.withLock { $0.grips += 1 }
        }

        deinit { table.state.withLock { $0.grips -= 1 } }
    }

    private let state = Mutex(State())

    var grips: Int { state.withLock { $0.grips } }

    func refusesGrips(_ refuses: Bool = true) { state.withLock { $0.refusesGrips = refuses } }

    func plug(_ number: UInt16, _ address: Int) {
        let address = BluetoothAddress(rawValue: UInt64(address), kind: .public)
        let lowEnergy: [UInt8] = [0, 0, 0, 0, 0x60, 0, 0, 0]
        state.withLock { state in
            state.serial += 1
            let facts = AdapterFacts(number: number, address: address, flags: 0b101, features: lowEnergy)
            state.adapters[number] = (facts, state.serial)
        }
    }

    func unplug(_ number: UInt16) { state.withLock { $0.adapters[number] = nil } }

    /// As Set Public Address or a driver does it.
    func write(_ address: Int, to number: UInt16) {
        state.withLock {
            $0.adapters[number]?.facts.address = BluetoothAddress(rawValue: UInt64(address), kind: .public)
        }
    }

    /// As Set External Configuration or a controller without an address does it.
    func setUnconfigured(_ number: UInt16, _ isUnconfigured: Bool) {
        // HCI_RAW, or HCI_UP and HCI_RUNNING.
        state.withLock { $0.adapters[number]?.facts.flags = isUnconfigured ? 1 << 8 : 0b101 }
    }

    /// As Set Powered does it.
    func power(_ number: UInt16, _ isOn: Bool) {
        state.withLock { $0.adapters[number]?.facts.flags = isOn ? 0b101 : 0 }
    }

    func adapters() throws(SystemError) -> [AdapterFacts] {
        state.withLock { $0.adapters.values.map(\.facts).sorted { $0.number < $1.number } }
    }

    func present(_ number: UInt16) throws(SystemError) -> AdapterFacts? {
        state.withLock { $0.adapters[number]?.facts }
    }

    func grip(_ number: UInt16) throws(SystemError) -> any AdapterGrip {
        let (serial, refuses) = state.withLock { ($0.adapters[number]?.serial, $0.refusesGrips) }
        guard let serial, !refuses else { throw .noDevice }
        return Grip(number: number, serial: serial, table: self, count: Count(self))
    }
}
