import BLEProtocol
import BLERadio
import Synchronization

/// The preferences for the links of one central: their connection parameters, the security that single characteristics
/// require, and who answers when a link must be made more secure.
final class LinkPreferences: Sendable {
    /// The parameters of each link that has none of its own; `nil`: the radio's default.
    private let common: ConnectionParameters?
    /// The parameters of single peripherals, by the octets of their addresses.
    private let own = Mutex<[UInt64: ConnectionParameters]>([:])

    private let commonAnswers: PairingAnswers?
    private let ownAnswers = Mutex<[UInt64: PairingAnswers]>([:])

    /// Whether there ever was a demand: hardly any program makes one, and each operation asks.
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
        // Released outside the lock.
        var answers = answers
        ownAnswers.withLock { swap(&$0[peripheral.rawValue], &answers) }
    }

    /// The security that characteristics of a peripheral require of a link.
    func demands(on peripheral: BluetoothAddress) -> SecurityDemands {
        guard isDemanding.load(ordering: .acquiring) else { return SecurityDemands() }
        return demanded.withLock { $0[peripheral.rawValue] ?? SecurityDemands() }
    }

    func demand(_ level: LinkSecurity.Level?, for selector: CharacteristicSelector, of peripheral: BluetoothAddress) {
        demanded.withLock { $0[peripheral.rawValue, default: SecurityDemands()][selector] = level }
        isDemanding.store(true, ordering: .releasing)
    }

    /// The preferred parameters of a link to a peripheral.
    subscript(peripheral: BluetoothAddress) -> ConnectionParameters? {
        own.withLock { $0[peripheral.rawValue] } ?? common
    }

    func set(_ parameters: ConnectionParameters?, for peripheral: BluetoothAddress) {
        own.withLock { $0[peripheral.rawValue] = parameters }
    }
}
