import BLEProtocol
import BLEStreams
import Synchronization

/// What a flow keeps of each device from one run to the next: a retried flow must know what its first attempt has done.
///
/// Copies of a flow share it. It holds at most ``limit`` devices: one more makes it forget the others.
final class FlowMemory<Value: Sendable>: Sendable {
    /// Peers that change their addresses must not make it grow for months.
    static var limit: Int { 4096 }

    private let values = Mutex<[BluetoothAddress: Value]>([:])

    subscript(device: BluetoothAddress) -> Value? {
        get { values.withLock { $0[device] } }
        set {
            values.withLock { values in
                if newValue != nil, values.count >= Self.limit, values[device] == nil { values = [:] }
                values[device] = newValue
            }
        }
    }

    /// The address by which a device is remembered: its present one, or the one that it had in an earlier run, if it
    /// has paired since and goes by its identity.
    func name(of device: Peripheral) -> BluetoothAddress {
        let address = device.address
        let others = values.withLock { $0[address] == nil ? Array($0.keys) : [] }
        return others.first { device.mayHave($0) } ?? address
    }
}

extension CommandContext {
    /// The device as its link names it, whatever the program calls it: by an address of the right kind, and by its
    /// identity if its bond reveals that.
    var linkedPeripheral: Peripheral { (try? link)?.peripheral ?? peripheral }
}
