import BLEProtocol
import Synchronization

/// The session that has last stored the plan of each peripheral: the store has one plan for each, and a session that is
/// forgotten must not take another one's with it.
final class PlanKeepers: Sendable {
    private struct Keeper {
        weak let session: Session?
    }

    private let keepers = Mutex<[BluetoothAddress: Keeper]>([:])

    /// Calls the closure, which stores the session's plan at this address.
    func store(at address: BluetoothAddress, by session: Session, _ store: () -> Void) {
        keepers.withLock { keepers in
            if keepers[address] == nil { keepers = keepers.filter { $0.value.session != nil } }
            keepers[address] = Keeper(session: session)
            store()
        }
    }

    /// Calls the closure, which removes the plan at this address, unless it is that of another session that runs.
    func withdraw(from address: BluetoothAddress, by session: Session, _ remove: () -> Void) {
        var keeper: Session?
        keepers.withLock { keepers in
            keeper = keepers[address]?.session
            if let keeper, keeper !== session, keeper.orders.isDriven { return }
            keepers[address] = nil
            remove()
        }
        // Released outside the lock: the program's closures may be deallocated with it.
        withExtendedLifetime(keeper) {}
    }
}
