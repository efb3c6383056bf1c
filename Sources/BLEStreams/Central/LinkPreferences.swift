import BLEProtocol
import BLERadio
import Synchronization

/// What was said of the links of one central: the connection parameters that they are made with, how secure they have to be
/// for the use of single characteristics, and who answers when one has to be made more secure.
final class LinkPreferences: Sendable {
    /// Those of every link without any of its own; `nil`: the radio's own.
    private let common: ConnectionParameters?
    /// Those of single peripherals, by the octets of their addresses.
    private let own = Mutex<[UInt64: ConnectionParameters]>([:])

    private let commonAnswers: PairingAnswers?
    private let ownAnswers = Mutex<[UInt64: PairingAnswers]>([:])

    /// Whether anything was ever demanded: nearly no program does, and each operation asks.
    private let isDemanding = Atomic(false)
    private let demanded = Mutex<[UInt64: SecurityDemands]>([:])

    init(_ common: ConnectionParameters?, _ answers: PairingAnswers?) {
        self.common = common
        commonAnswers = answers
    }

    /// Who answers for a peripheral; `nil`: nobody.
    func answers(for peripheral: BluetoothAddress) -> PairingAnswers? {
        ownAnswers.withLock { $0.isEmpty ? nil : $0[peripheral.rawValue] } ?? commonAnswers
    }

    func set(_ answers: PairingAnswers?, for peripheral: BluetoothAddress) {
        // Let go of outside the lock.
        var answers = answers
        ownAnswers.withLock { swap(&$0[peripheral.rawValue], &answers) }
    }

    /// How secure a link to a peripheral has to be for the use of which characteristics.
    func demands(on peripheral: BluetoothAddress) -> SecurityDemands {
        guard isDemanding.load(ordering: .acquiring) else { return SecurityDemands() }
        return demanded.withLock { $0[peripheral.rawValue] ?? SecurityDemands() }
    }

    func demand(_ level: LinkSecurity.Level?, for selector: CharacteristicSelector, of peripheral: BluetoothAddress) {
        demanded.withLock { $0[peripheral.rawValue, default: SecurityDemands()][selector] = level }
        isDemanding.store(true, ordering: .releasing)
    }

    /// What a link to a peripheral is to be like.
    subscript(peripheral: BluetoothAddress) -> ConnectionParameters? {
        own.withLock { $0[peripheral.rawValue] } ?? common
    }

    func set(_ parameters: ConnectionParameters?, for peripheral: BluetoothAddress) {
        own.withLock { $0[peripheral.rawValue] = parameters }
    }
}
