import BLEProtocol
import Synchronization

/// The preferences for the links of one central: their connection parameters, the security that single characteristics
/// require, and who answers when a link must be made more secure.
///
/// They are set for an address, and hold for all addresses of the peripheral: a link to a bonded one goes by its
/// identity, whichever private address the program knows it by.
final class LinkPreferences: Sendable {
    /// What was set for single peripherals, by the octets of their addresses.
    private struct Table<Value> {
        private var entries: [UInt64: (address: BluetoothAddress, value: Value)] = [:]

        var count: Int { entries.count }

        /// What was set for a peripheral, under each of its addresses: under this one first.
        func values(of address: BluetoothAddress, _ identities: KnownIdentities) -> [Value] {
            if entries.isEmpty { return [] }
            return keys(of: address, identities).compactMap { entries[$0]?.value }
        }

        private func keys(of address: BluetoothAddress, _ identities: KnownIdentities) -> [UInt64] {
            let own = [address.rawValue]
            guard identities.mayHaveOthers(address) else { return own }
            let others = entries.values.lazy.map(\.address).filter { other in
                other.rawValue != address.rawValue && identities.areOfOne(other, address)
            }
            return own + others.map(\.rawValue)
        }

        /// Sets or removes the value of a peripheral. Returns those that it replaces.
        mutating func replace(
            with value: Value?,
            of address: BluetoothAddress,
            _ identities: KnownIdentities
        ) -> [Value] {
            let former = keys(of: address, identities).compactMap { entries.removeValue(forKey: $0)?.value }
            entries[address.rawValue] = value.map { (address, $0) }
            return former
        }

        /// Removes what was set for all peripherals, and returns it.
        mutating func removeAll() -> [Value] {
            defer { entries = [:] }
            return entries.values.map { $0.value }
        }
    }

    /// The parameters of each link that has none of its own; `nil`: the radio's default.
    private let common: ConnectionParameters?
    private let own = Mutex(Table<ConnectionParameters>())

    private let commonAnswers: PairingAnswers?
    private let ownAnswers = Mutex(Table<PairingAnswers>())

    /// Whether there ever was a demand: hardly any program makes one, and each operation asks.
    private let isDemanding = Atomic(false)
    private let demanded = Mutex(Table<SecurityDemands>())

    private let identities: KnownIdentities

    init(_ common: ConnectionParameters?, _ answers: PairingAnswers?, _ identities: KnownIdentities) {
        self.common = common
        commonAnswers = answers
        self.identities = identities
    }

    /// How much is set for single peripherals.
    var count: Int {
        own.withLock { $0.count } + ownAnswers.withLock { $0.count } + demanded.withLock { $0.count }
    }

    /// Who answers for a peripheral; `nil`: nobody.
    func answers(for peripheral: BluetoothAddress) -> PairingAnswers? {
        ownAnswers.withLock { $0.values(of: peripheral, identities).first } ?? commonAnswers
    }

    func set(_ answers: PairingAnswers?, for peripheral: BluetoothAddress) {
        let former = ownAnswers.withLock { $0.replace(with: answers, of: peripheral, identities) }
        // Released outside the lock.
        withExtendedLifetime(former) {}
    }

    /// Forgets who answers for single peripherals. A closure may keep its peripheral, as for the words of a question,
    /// and that keeps the central, with the radio and its thread.
    func forgetAnswers() {
        let former = ownAnswers.withLock { $0.removeAll() }
        // Released outside the lock.
        withExtendedLifetime(former) {}
    }

    /// The security that characteristics of a peripheral require of a link.
    func demands(on peripheral: BluetoothAddress) -> SecurityDemands {
        guard isDemanding.load(ordering: .acquiring) else { return SecurityDemands() }
        return SecurityDemands(demanded.withLock { $0.values(of: peripheral, identities) })
    }

    func demand(_ level: LinkSecurity.Level?, for selector: CharacteristicSelector, of peripheral: BluetoothAddress) {
        demanded.withLock { table in
            var demands = SecurityDemands(table.values(of: peripheral, identities))
            demands[selector] = level
            _ = table.replace(with: demands.isEmpty ? nil : demands, of: peripheral, identities)
        }
        isDemanding.store(true, ordering: .releasing)
    }

    /// The preferred parameters of a link to a peripheral.
    subscript(peripheral: BluetoothAddress) -> ConnectionParameters? {
        own.withLock { $0.values(of: peripheral, identities).first } ?? common
    }

    func set(_ parameters: ConnectionParameters?, for peripheral: BluetoothAddress) {
        own.withLock { _ = $0.replace(with: parameters, of: peripheral, identities) }
    }
}
