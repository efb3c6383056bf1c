internal import BLEProtocol
internal import Synchronization

/// Tells other programs that this one has given an adapter its list of keys, and holds this program's part of it.
///
/// The kernel has one list for each adapter, and loading one replaces the previous one. The claim is a socket's name,
/// which the kernel frees when the program ends, however it ends. Radios of one program share a claim.
final class KeyClaim: Sendable {
    private let socket: FileDescriptor
    private let bonds = Mutex<[BluetoothAddress: Bond]>([:])

    private struct Place { weak var claim: KeyClaim? }
    private static let places = Mutex<[String: Place]>([:])

    private init(of adapter: String, on kernel: Kernel) throws(SystemError) {
        socket = try FileDescriptor.namedSocket("blestreams/keys/\(adapter)", of: kernel)
    }

    /// The claim of this program; `nil` if another program has it.
    ///
    /// - Throws: why the system gives none: whose the list is can't be known then.
    static func take(of adapter: String, on kernel: Kernel = .ofThisMachine) throws(SystemError) -> KeyClaim? {
        try places.withLock { places throws(SystemError) -> KeyClaim? in
            if let claim = places[adapter]?.claim { return claim }
            let claim: KeyClaim
            do throws(SystemError) {
                claim = try KeyClaim(of: adapter, on: kernel)
            } catch .addressInUse {
                return nil
            }
            places[adapter] = Place(claim: claim)
            return claim
        }
    }

    /// Adds bonds, and returns all that this program has given the adapter.
    func add(_ new: [Bond]) -> [Bond] {
        bonds.withLock { bonds in
            for bond in new { bonds[bond.peer] = bond }
            return bonds.values.sorted { $0.peer.rawValue < $1.peer.rawValue }
        }
    }

    func remove(_ peer: BluetoothAddress) { _ = bonds.withLock { $0.removeValue(forKey: peer) } }
}
