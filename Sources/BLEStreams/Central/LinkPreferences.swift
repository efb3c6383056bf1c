import BLEProtocol
import Synchronization

/// The connection parameters that the links of one central are made with.
final class LinkPreferences: Sendable {
    /// Those of every link without any of its own; `nil`: the radio's own.
    private let common: ConnectionParameters?
    /// Those of single peripherals, by the octets of their addresses.
    private let own = Mutex<[UInt64: ConnectionParameters]>([:])

    init(_ common: ConnectionParameters?) { self.common = common }

    /// What a link to a peripheral is to be like.
    subscript(peripheral: BluetoothAddress) -> ConnectionParameters? {
        own.withLock { $0[peripheral.rawValue] } ?? common
    }

    func set(_ parameters: ConnectionParameters?, for peripheral: BluetoothAddress) {
        own.withLock { $0[peripheral.rawValue] = parameters }
    }
}
