import BLEProtocol
import BLERadio
import Synchronization

/// Links that nobody can share any more.
///
/// A link is lost, or left by its last user, a moment before the board of connection states is told of that, and other
/// threads may connect in between. So an entry stays until the board has been told that its link is down, and the next
/// link to the peripheral waits for that.
extension Connector {
    /// A link is down: remaining users find it gone.
    func ended(_ peripheral: Peripheral) {
        let gone = state.withLock { state -> Entry? in
            guard let number = number(of: peripheral.address, state), let entry = state.entries[number],
                entry.machine.isLinked, entry.link?.bearer.end != nil
            else { return nil }
            return state.retire(number)
        }
        // Released outside the lock: this may deallocate what it holds.
        withExtendedLifetime(gone) {}
    }

    /// Calls the closure once all former links to a peripheral are down, and said to be.
    ///
    /// - Parameter number: the entry that waits; its own link is one of an earlier attempt.
    func whenFormerLinksAreDown(
        _ number: Int,
        _ peripheral: Peripheral,
        _ action: @escaping @Sendable () -> Void
    ) {
        guard let former = formerLink(to: peripheral.address, before: number) else {
            return peripheral.core.states.whenDown(peripheral.address, action)
        }
        former.lifetime.told.whenEnded { self.whenFormerLinksAreDown(number, peripheral, action) }
    }

    private func formerLink(to address: BluetoothAddress, before number: Int) -> Link? {
        state.withLock { state in
            let former = state.entries.first { other, entry in
                (entry.isRetired || other == number) && entry.hasLink
                    && identities.areOfOne(entry.peripheral.address, address)
            }
            return former?.value.link
        }
    }

    /// Whether there is any link.
    var hasLinks: Bool { state.withLock { $0.entries.values.contains(where: \.hasLink) } }

    /// The link of an entry is down, and said to be.
    func linkIsOver(_ number: Int) {
        let gone = state.withLock { $0.removeIfOver(number) }
        // Released outside the lock: this may deallocate what it holds.
        withExtendedLifetime(gone) {}
    }
}

extension Connector.Entry {
    /// Whether there is a link whose end isn't told yet.
    var hasLink: Bool { link?.lifetime.told.hasEnded == false }
}

extension Connector.State {
    /// Removes an entry that accepts no more callers, and for which nothing remains to be done; returns it then.
    mutating func removeIfOver(_ number: Int) -> Connector.Entry? {
        guard let entry = entries[number], entry.isRetired, entry.pending == 0, !entry.hasLink else { return nil }
        return entries.removeValue(forKey: number)
    }
}
