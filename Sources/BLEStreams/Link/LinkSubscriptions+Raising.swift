import BLEProtocol
import BLERadio
import Synchronization

/// What becomes of subscriptions that ask for a more secure link.
extension LinkSubscriptions {
    /// The peer has refused a write, since the link isn't secure enough: it is raised where a subscriber has answers, once,
    /// and the write repeated.
    ///
    /// - Parameter rises: how often the link had been raised when it was begun.
    func refused(
        _ write: SubscriptionTable.Write,
        _ failure: GATTFailure,
        _ error: ATTError,
        _ place: Lane.Entry?,
        since rises: Int?,
        _ hasRaised: Bool
    ) {
        let (raiser, subscribers) = state.withLock { state in
            let entries = state.entries.values.filter { $0.characteristic?.valueHandle == write.valueHandle }
            return (state.raiser, entries.map(\.subscriber))
        }
        guard let raiser, let bearer else { return answered(write, .failure(failure), place) }
        if rises != raiser.rises { return repeated(write, failure, place, hasRaised: hasRaised) }
        let answers = subscribers.lazy.compactMap { $0.answers() }.first
        guard !hasRaised, let answers, let level = RaiseMachine.level(for: error, at: bearer.radioLink.security) else {
            return answered(write, .failure(failure), place)
        }
        let leaving = Ending<Void>()
        state.withLock { $0.raises[write.number] = Raise(write: write, place: place, leaving: leaving) }
        let leave = raiser.raise(to: level, answers: answers, isRefused: true) { [weak self] outcome in
            guard let self, state.withLock({ $0.raises.removeValue(forKey: write.number) }) != nil else { return }
            switch outcome {
            case .success: repeated(write, failure, place, hasRaised: true)
            case .failure(let error): answered(write, .failure(failure), place, because: error)
            }
        }
        leaving.undo(leave)
        giveUpRaises()
    }

    /// Writes again, unless the handle has come to mean something else.
    private func repeated(
        _ write: SubscriptionTable.Write,
        _ failure: GATTFailure,
        _ place: Lane.Entry?,
        hasRaised: Bool
    ) {
        let isUnderWay = state.withLock { $0.table.isUnderWay(write) }
        guard isUnderWay else { return answered(write, .failure(failure), place) }
        carryOut(write, place, hasRaised: hasRaised)
    }

    /// Has nothing raised any more for subscribers that have left.
    func giveUpRaises() {
        let unwanted = state.withLock { state in
            let handles = Set(state.entries.values.compactMap { $0.characteristic?.valueHandle })
            let unwanted = state.raises.values.filter { !handles.contains($0.write.valueHandle) }
            for raise in unwanted { state.raises[raise.write.number] = nil }
            return unwanted
        }
        for raise in unwanted {
            raise.leaving.end()
            answered(raise.write, .failure(.cancelled), raise.place)
        }
    }

    /// A write that waits for a more secure link.
    struct Raise {
        let write: SubscriptionTable.Write
        let place: Lane.Entry?
        /// Ends when nobody wants it any more.
        let leaving: Ending<Void>
    }
}
