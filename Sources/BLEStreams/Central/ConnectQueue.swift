import BLERadio
import Synchronization

/// Who may wait for a connection on one radio: so many at a time, the others in the order in which they came.
///
/// A controller makes one link at a time, and kernels let several attempts wait for their peripherals side by side: who
/// waits for one that is away keeps nobody from one that is near. Beyond ``width`` they take turns: whoever has waited
/// for ``turn`` or longer makes room when somebody else wants to, and goes to the end of the queue.
final class ConnectQueue: Sendable {
    /// How many attempts wait side by side; the accept lists of controllers have room for 8 to 32.
    static let width = 16

    /// For how long an attempt is left alone. Slow advertisers are heard every one or two seconds.
    static let turn = Duration.seconds(5)

    private struct Place {
        let id: Int
        let grant: @Sendable () -> Void
        let revoke: @Sendable () -> Void
        var since = Duration.zero
    }

    private struct State {
        var places: [Place] = []
        var waiting = Ring<Place>()
        /// Those who left the queue while they waited.
        var gone: Set<Int> = []
        var nextID = 0
        var timer: RadioActivity?
    }

    private let timeline: any Timeline
    private let state = Mutex(State())

    init(timeline: any Timeline) { self.timeline = timeline }

    /// Waits for a place.
    ///
    /// - Parameters:
    ///   - grant: called once when there is a place, perhaps at once.
    ///   - revoke: called when somebody else is to have it; the caller then leaves, and may enter again.
    /// - Returns: a closure that leaves the queue, or the place; to be called once.
    func enter(
        grant: @escaping @Sendable () -> Void,
        revoke: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            state.waiting.append(Place(id: state.nextID, grant: grant, revoke: revoke))
            return state.nextID
        }
        fill()
        return { self.leave(id) }
    }

    private func leave(_ id: Int) {
        state.withLock { state in
            if let index = state.places.firstIndex(where: { $0.id == id }) {
                state.places.remove(at: index)
            } else {
                state.gone.insert(id)
            }
        }
        fill()
    }

    /// Gives places to those who wait, for as long as there are any.
    private func fill() {
        let now = timeline.now
        let (granted, timer) = state.withLock { state -> ([Place], RadioActivity?) in
            var granted: [Place] = []
            while let next = state.waiting.first {
                if state.gone.remove(next.id) != nil {
                    _ = state.waiting.popFirst()
                    continue
                }
                guard state.places.count < Self.width else { break }
                _ = state.waiting.popFirst()
                state.places.append(Place(id: next.id, grant: next.grant, revoke: next.revoke, since: now))
                granted.append(next)
            }
            return (granted, state.waiting.isEmpty ? state.timer.take() : nil)
        }
        timer?.cancel()
        for place in granted { place.grant() }
        watch()
    }

    /// Sees to it that the one who has waited longest makes room, once its turn is over.
    private func watch() {
        let now = timeline.now
        let delay = state.withLock { state -> Duration? in
            guard state.timer == nil, !state.waiting.isEmpty, let oldest = state.places.first else { return nil }
            return max(.zero, oldest.since + Self.turn - now)
        }
        guard let delay else { return }
        let timer = timeline.schedule(after: delay) { [weak self] in self?.turnIsOver() }
        let superfluous = state.withLock { state -> RadioActivity? in
            guard state.timer == nil, !state.waiting.isEmpty else { return timer }
            state.timer = timer
            return nil
        }
        superfluous?.cancel()
    }

    private func turnIsOver() {
        let now = timeline.now
        let revoke = state.withLock { state -> (@Sendable () -> Void)? in
            state.timer = nil
            guard !state.waiting.isEmpty, let oldest = state.places.first, oldest.since + Self.turn <= now else {
                return nil
            }
            return oldest.revoke
        }
        if let revoke { revoke() } else { watch() }
    }
}
