import BLEProtocol
import BLERadio

/// What follows where a try has failed.
extension ConnectMachine {
    /// The radio could not make a link, or the one that it made ended while it settled.
    ///
    /// - Parameter random: for the length of a pause.
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
            // The peripheral was there: it is of this kind.
            candidates = [address]
            // The link tells its own end, when it is down.
            isTold = false
        }
        pace.persists = waiters.contains(where: \.persists)
        if let pause = pace.pause(after: failure.pace, random: random) {
            // Who has rules of its own is told.
            answer(&output) { $0.persists ? nil : .failed }
            setAlarm(&output)
            guard wasUp else { return goOn(after: pause, &output) }
            return begin(.waitForEnd(thenPause: pause), &output)
        }
        if failure.isBusy {
            // The link that is in the way tells the kind.
            candidates = []
        } else {
            candidates.removeFirst()
        }
        if candidates.isEmpty { giveUp(failure, now: now, &output) } else { goOn(&output) }
    }

    /// The link that has failed is down: another one is made.
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

    /// Takes back what the radio was asked, for as long as the adapter is being switched off and on. What has been connected
    /// already is left alone, and so is a scan that tells the kind of the address: it rests by itself.
    mutating func pause(_ output: inout Output) {
        guard !isPaused, !isOver else { return }
        isPaused = true
        guard turn != nil else { return }
        stop(&output)
        isHeldBack = true
    }

    /// Asks the radio again.
    mutating func resume(_ output: inout Output) {
        let goesOn = isHeldBack
        (isPaused, isHeldBack) = (false, false)
        if goesOn { goOn(&output) }
    }

    /// The adapter can be used again: who has time left begins anew, a moment later.
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
