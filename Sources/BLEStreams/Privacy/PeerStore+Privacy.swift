import BLEProtocol
import FoundationEssentials

// The key of this machine's own private addresses: as lasting as the bonds, since bonded peers recognise it by that.
extension PeerStore {
    /// The key of an adapter, made if there is none yet. Reads a file: not for the radio's thread.
    ///
    /// - Parameter random: unpredictable random bits.
    func ownIdentityKey(of adapter: BluetoothAddress, random: () -> UInt64) -> SecretKey {
        if let kept = record(of: adapter).ownIdentityKey.flatMap({ SecretKey(octets: $0) }) { return kept }
        let octets = [random(), random()].flatMap { half in
            (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * $0)) }
        }
        let made = Data(octets)
        // If another program was faster, its key stays.
        update(adapter, isLasting: true) { record in
            if record.ownIdentityKey?.count != octets.count { record.ownIdentityKey = made }
        }
        guard let key = SecretKey(octets: octets) else { preconditionFailure("two halves are sixteen octets") }
        return key
    }
}
