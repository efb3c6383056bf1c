import BLERadio
import Synchronization

/// The reading of a value whose changes are subscribed to: behind the subscription, and again behind each one that takes
/// its place.
///
/// What is notified behind a subscription is contained in what is read behind it. A reading that is still in progress
/// then may be on air already: its value was there before the subscription, so that it doesn't count.
final class ValueReading: Sendable {
    private struct State {
        /// The number of the reading that counts.
        var number = 0
        /// Whether its value was told: what is notified from now on has changed since then.
        var isDone = false
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let ending = Ending<Void>()

    var isDone: Bool { state.withLock { $0.isDone } }

    /// Begins a reading in place of the former one.
    ///
    /// - Parameters:
    ///   - start: starts it with what hears its outcome; returns the closure that withdraws it.
    ///   - tell: hears the outcome, unless another reading has begun or ``end()`` was called.
    func begin(
        _ start: (@escaping @Sendable (Result<[UInt8], BLEError>) -> Void) -> @Sendable () -> Void,
        tell: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) {
        let (number, former) = state.withLock { state in
            state.number += 1
            state.isDone = false
            return (state.number, state.cancel.take())
        }
        former?()
        // Who hears the value keeps this. If its outcome did, too, each would keep the other, and the link, for ever.
        let cancel = start { [weak self] outcome in
            guard let self, state.withLock({ $0.number == number }) else { return }
            tell(outcome)
            if case .success = outcome { state.withLock { $0.isDone = true } }
        }
        state.withLock { $0.cancel = cancel }
        ending.undoInstead(cancel)
    }

    /// Withdraws the reading in progress, and each one that would begin.
    func end() { ending.end() }
}
