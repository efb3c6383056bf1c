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
}

extension CommandContext {
    /// By which address a flow remembers the device: that of its link, which is of the right kind, and the identity of
    /// a device with private addresses, however the program has named it.
    var rememberedAddress: BluetoothAddress { (try? link)?.peripheral.address ?? peripheral.address }
}
