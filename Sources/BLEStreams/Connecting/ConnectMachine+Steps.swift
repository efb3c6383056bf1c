import BLEProtocol
import BLERadio

/// The way from nothing to a link, step by step.
extension ConnectMachine {
    /// Begins, or begins again.
    mutating func start(_ output: inout Output) {
        if !isTrying { output.tries = true }
        isTrying = true
        candidates = addresses
        identities = [:]
        hasListened = addresses.count < 2
        hasTriedLink = false
        tries = 0
        // A previous link that is still closing would keep the peer busy.
        begin(.waitUntilDown, &output)
    }

    /// The previous link is down.
    mutating func isDown(_ number: Int, _ output: inout Output) {
        guard takes(number) != nil else { return }
        output.tell(.connecting)
        isTold = true
        begin(.recall, &output)
    }

    /// The stored record of the peripheral has been read.
    ///
    /// - Parameters:
    ///   - identities: the identities behind its private addresses.
    ///   - isBonded: whether there is a bond with it.
    ///   - hasLink: whether the radio reports a link to it, of any program.
    mutating func recalled(
        _ number: Int,
        identities: [BluetoothAddress: BluetoothAddress],
        isBonded: Bool,
        hasLink: Bool,
        _ output: inout Output
    ) {
        guard takes(number) != nil else { return }
        self.identities = identities
        self.hasLink = hasLink
        self.isBonded = isBonded
        if isBonded { restoreKeys(&output) } else { goOn(&output) }
    }

    private mutating func restoreKeys(_ output: inout Output) {
        // A step that is under way already may yet cost them.
        mayLackKeys = isPaused
        begin(.restoreKeys, &output)
    }

    /// The keys are loaded, or could not be: still worth trying, since the adapter may have them.
    mutating func keysRestored(_ number: Int, hasKeys: Bool, _ output: inout Output) {
        guard takes(number) != nil else { return }
        // An adapter with the key identifies the peripheral only by its identity.
        let names = candidates.flatMap { address -> [BluetoothAddress] in
            guard let identity = identities[address] else { return [address] }
            return hasKeys ? [identity] : [identity, address]
        }
        // They are loaded again behind a pause, when some of these are known already.
        candidates = names.enumerated().filter { !names[..<$0.offset].contains($0.element) }.map(\.element)
        goOn(&output)
    }

    /// Queues with the first candidate, after listening for all of them. A peripheral with a link may not advertise, so
    /// it is tried before that; if the attempt reveals nothing, the link was about to end.
    mutating func goOn(_ output: inout Output) {
        if isPaused {
            isHeldBack = true
            return leaveTurn(&output)
        }
        if isBonded, mayLackKeys { return restoreKeys(&output) }
        if !hasListened {
            hasListened = hasTriedLink || !hasLink
            hasTriedLink = true
            if hasListened {
                return begin(.listen(for: candidates, atMost: min(Self.longestListening, limit / 2)), &output)
            }
        }
        begin(.lineUp, &output)
        turn = number
    }

    // MARK: - Listening

    /// The peripheral was heard, under this address.
    mutating func heard(_ number: Int, _ address: BluetoothAddress, _ output: inout Output) {
        guard number == self.number, step != nil else { return }
        candidates = [address]
        listened(number, &output)
    }

    /// Listening has taken long enough, or is not possible.
    mutating func listened(_ number: Int, _ output: inout Output) {
        guard number == self.number, step != nil else { return }
        stop(&output)
        goOn(&output)
    }

    // MARK: - The radio

    /// The peripheral's turn on the radio begins.
    mutating func granted(_ number: Int, _ output: inout Output) {
        guard number == turn, takes(number) != nil else { return }
        connect(&output)
    }

    /// Another peripheral gets the radio: this one queues again.
    mutating func revoked(_ number: Int, _ output: inout Output) {
        guard number == turn else { return }
        stop(&output)
        rotate()
        goOn(&output)
    }

    private mutating func connect(_ output: inout Output) {
        tries += 1
        let length = tries <= addresses.count ? Self.firstTurn : Self.laterTurn
        let limit = candidates.count > 1 ? min(length, limit / 4) : nil
        begin(.connect(to: candidates[0], atMost: limit), &output)
    }

    /// The radio is asked anew, in the same turn: what it was told with the request has changed.
    mutating func requestAnew(_ output: inout Output) {
        guard case .connect? = step else { return }
        output.stops = true
        tries -= 1
        connect(&output)
    }

    private mutating func rotate() { candidates.append(candidates.removeFirst()) }

    /// The radio has made a link; returns whether it is still wanted.
    mutating func connected(_ number: Int, _ output: inout Output) -> Bool {
        guard number == self.number, case .connect(let address, _)? = step else { return false }
        leaveTurn(&output)
        begin(.settle(with: address), &output)
        return true
    }

    /// The link can be used.
    mutating func settled(_ number: Int, _ output: inout Output) {
        if takes(number) != nil { linked(&output) }
    }

    /// The time of a step has expired, if it has one.
    mutating func limitPassed(_ number: Int, _ output: inout Output) {
        guard number == self.number, let step else { return }
        switch step {
        case .listen: listened(number, &output)
        case .connect:
            output.stops = true
            rotate()
            if hasListened, !isPaused { return connect(&output) }
            _ = takes(number)
            leaveTurn(&output)
            goOn(&output)
        case .pause:
            _ = takes(number)
            goOn(&output)
        case .rest:
            _ = takes(number)
            start(&output)
        default: break
        }
    }
}
