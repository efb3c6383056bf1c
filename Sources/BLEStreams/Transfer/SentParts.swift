import BLEProtocol
import BLERadio
import Synchronization

/// The peripherals that have only a part of the last message for a characteristic.
///
/// It outlives a link: without the capability to end it, Linux holds one for two seconds, and the next attempt takes it
/// over with what the peripheral has by then. A new link ends it.
final class SentParts: Sendable {
    private let handles = Mutex<[BluetoothAddress: Set<UInt16>]>([:])

    /// A link begins.
    func begin(_ link: any ATTLink) {
        if !link.isResumed { handles.withLock { $0[link.peer] = nil } }
    }

    func contains(_ handle: UInt16, of peer: BluetoothAddress) -> Bool {
        handles.withLock { $0[peer]?.contains(handle) == true }
    }

    /// A message was sent, or a part of it.
    func sent(part: Bool, at handle: UInt16, of peer: BluetoothAddress) {
        handles.withLock { handles in
            var parts = handles[peer] ?? []
            if part { parts.insert(handle) } else { parts.remove(handle) }
            handles[peer] = parts.isEmpty ? nil : parts
        }
    }
}
