import BLEStreams
import Synchronization

/// The peripherals that commands update at this moment. Without leases, a peripheral may have several labels, each with
/// a session and a queue of its own, and two updates would disturb each other whenever the link is lost.
final class UpdatedPeripherals: Sendable {
    /// By the octets of the address, which identify a peripheral whatever kind the address is of.
    private let labels = Mutex<[UInt64: String]>([:])

    /// Notes that the update of a peripheral begins.
    ///
    /// - Returns: the label under which it is being updated already; `nil`: the update may begin.
    func begin(_ address: BluetoothAddress, as label: String) -> String? {
        labels.withLock { labels in
            if let other = labels[address.rawValue] { return other }
            labels[address.rawValue] = label
            return nil
        }
    }

    /// Notes that the update that has begun is over.
    func end(_ address: BluetoothAddress) {
        labels.withLock { labels in labels[address.rawValue] = nil }
    }
}
