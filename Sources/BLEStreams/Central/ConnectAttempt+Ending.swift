import BLEProtocol
import BLERadio
import Synchronization

/// What becomes of an attempt: a link that is handed over, another try, or an error.
extension ConnectAttempt {
    /// The MTU is known, or the link ended before that.
    func negotiated(_ link: Link, _ turn: Int, _ outcome: Result<Void, BLEError>) {
        switch outcome {
        case .success:
            guard finish(isLinked: true) else { return }
            core.states.set(.connected, of: peripheral.address)
            result(.success(link))
        case .failure(let error):
            state.withLock { state in
                state.link = nil
                // The peripheral was there: it is of this kind.
                state.candidates = [link.peripheral.address]
            }
            failed(error, turn, link)
        }
    }

    /// - Parameter link: the link that has ended, where there was one.
    func failed(_ error: BLEError, _ turn: Int, _ link: Link? = nil) {
        let failure = ConnectPace.Failure(
            error,
            wasHeard: link?.bearer.hasReceived ?? false,
            wasResumed: link?.bearer.radioLink.isResumed ?? false
        )
        let random = core.timeline.randomBits()
        let (endOfTurn, next): (RadioActivity?, Next?) = state.withLock { state in
            guard !state.isOver, state.turn == turn else { return (nil, nil) }
            let endOfTurn = state.endOfTurn.take()
            if let pause = state.pace.pause(after: failure, random: random) {
                // What comes late belongs to a turn that is over.
                state.turn &+= 1
                return (endOfTurn, .again(after: pause, turn: state.turn))
            }
            if error.code == .busy {
                // The link that is in the way tells the kind.
                state.candidates = []
            } else {
                state.candidates.removeFirst()
            }
            return (endOfTurn, state.candidates.isEmpty ? .giveUp : .otherKind)
        }
        endOfTurn?.cancel()
        switch next {
        case .again(let pause, let turn): tryAgain(after: pause, turn, link)
        case .otherKind: connect()
        case .giveUp: giveUp(error)
        case nil: break
        }
    }

    private enum Next {
        case again(after: Duration, turn: Int)
        case otherKind
        case giveUp
    }

    /// Connects once more, when what there was of a link is down.
    private func tryAgain(after pause: Duration, _ turn: Int, _ link: Link?) {
        guard let link else { return wait(pause, turn) }
        link.onEnd { _ in
            if self.tellConnecting() { self.wait(pause, turn) }
        }
    }

    private func wait(_ pause: Duration, _ turn: Int) {
        guard pause > .zero else { return connect() }
        let timer = core.timeline.schedule(after: pause) {
            let isCurrent = self.state.withLock { !$0.isOver && $0.turn == turn }
            if isCurrent { self.connect() }
        }
        store {
            if $0.turn == turn { $0.activity = timer }
        } orCancel: {
            timer
        }
    }

    /// Has everybody who watches know that a link is being made; whether it still is.
    func tellConnecting() -> Bool {
        guard !state.withLock({ $0.isOver }) else { return false }
        core.states.set(.connecting, of: peripheral.address)
        guard state.withLock({ $0.isOver }) else { return true }
        // Given up in between, and nobody else says so any more.
        core.states.set(.disconnected(nil), of: peripheral.address)
        return false
    }

    private func giveUp(_ error: BLEError) {
        guard finish() else { return }
        core.states.set(.disconnected(error.reason), of: peripheral.address)
        var error = error
        error.elapsed = core.timeline.now - begin
        result(.failure(error))
    }

    /// The connections so far that were never established.
    var failures: Int { state.withLock { $0.pace.failures } }

    func timedOut() {
        let (link, failures) = state.withLock { ($0.link, $0.pace.failures) }
        guard finish() else { return }
        abandon(link)
        result(.failure(.connectTimedOut(peripheral, after: timeout, failures: failures)))
    }

    func cancel() {
        let link = state.withLock { $0.link }
        guard finish() else { return }
        abandon(link)
    }

    /// A link that is up already tells its own end.
    private func abandon(_ link: Link?) {
        if let link {
            link.beginClosing()
        } else {
            core.states.set(.disconnected(nil), of: peripheral.address)
        }
    }

    /// Ends the attempt once; whether this call did.
    private func finish(isLinked: Bool = false) -> Bool {
        let over: (activities: [RadioActivity?], end: (@Sendable (Bool) -> Void)?)? = state.withLock { state in
            guard !state.isOver else { return nil }
            state.isOver = true
            state.link = nil
            return ([state.timer.take(), state.endOfTurn.take(), state.activity.take()], state.end.take())
        }
        guard let over else { return false }
        for activity in over.activities { activity?.cancel() }
        over.end?(isLinked)
        return true
    }
}
