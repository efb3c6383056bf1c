import BLEProtocol
import BLERadio

/// What follows a failed attempt.
extension ConnectMachine {
    /// The radio could not make a link, or the link ended while it settled.
    ///
    /// - Parameter random: determines the length of a pause.
    mutating func failed(
        _ number: Int,
        _ failure: Failure,
        random: UInt64,
        now: Duration,
        _ output: inout Output
    ) {
        guard let step = takes(number) else { return }
        leaveTurn(&output)
        var wasUp = false
        if case .settle(let address) = step {
            wasUp = true
            // The peripheral responded: its address is of this kind.
            candidates = [address]
            // The link reports its own end, when it is down.
            isTold = false
        }
        pace.persists = waiters.contains(where: \.persists)
        if let pause = pace.pause(after: failure.pace, random: random) {
            // Callers with their own rules are told.
            answer(&output) { $0.persists ? nil : .failed }
            setAlarm(&output)
            guard wasUp else { return goOn(after: pause, &output) }
            return begin(.waitForEnd(thenPause: pause), &output)
        }
        // No failure says that the kind of the address is wrong: an attempt for the wrong one only waits. The other
        // kind would be waited for in vain, and that is what the callers would be told in the end.
        giveUp(failure, now: now, &output)
    }

    /// The failed link is down: another one is made.
    mutating func linkIsDown(_ number: Int, _ output: inout Output) {
        guard case .waitForEnd(let pause)? = takes(number) else { return }
        output.tell(.connecting)
        isTold = true
        goOn(after: pause, &output)
    }

    private mutating func goOn(after pause: Duration, _ output: inout Output) {
        if pause > .zero { begin(.pause(pause), &output) } else { goOn(&output) }
    }

    // MARK: - The adapter

    /// Withdraws the request to the radio while the adapter is being switched off and on, or reset. A link already made
    /// is kept, and so is a scan for the kind of the address, which pauses by itself.
    mutating func pause(_ output: inout Output) {
        guard isTrying, !isPaused else { return }
        (isPaused, mayLackKeys) = (true, true)
        guard turn != nil else { return }
        stop(&output)
        isHeldBack = true
    }

    /// Repeats the request to the radio. If there is a bond, its keys are loaded before that: a reset loses them.
    mutating func resume(_ output: inout Output) {
        let goesOn = isHeldBack
        (isPaused, isHeldBack) = (false, false)
        if goesOn { goOn(&output) }
    }

    /// The adapter can be used again: callers with time left begin again, slightly later.
    mutating func adapterReturned(_ number: Int, now: Duration, _ output: inout Output) {
        guard number == self.number, step == .waitForAdapter else { return }
        answer(&output) { now + Self.adapterRest < $0.end(true) ? nil : .failed }
        updateWaiters { waiter in
            if case .upTo = waiter.patience { waiter.deadline = now + Self.adapterRest + waiter.timeout }
        }
        stop(&output)
        guard !waiters.isEmpty else { return abandon(&output) }
        begin(.rest(Self.adapterRest), &output)
        setAlarm(&output)
    }
}
