import BLEProtocol
import BLERadio
import Synchronization

/// How PDUs are handed to the radio: see ``LinkMachine/SendingTurn``.
extension Bearer {
    /// The maximum number of PDUs that one caller sends in a turn, including those of others.
    private static let turnLength = 64

    /// Hands PDUs to the radio as long as there are any and the radio accepts them. The caller has the turn.
    func send(_ first: LinkMachine.Outgoing) {
        var next: LinkMachine.Outgoing? = first
        var count = 0
        while let outgoing = next {
            if count == Self.turnLength { return passTurn(outgoing) }
            count += 1
            let result = radioLink.send(outgoing.pdu)
            var output = LinkMachine.Output()
            var callers = Callers()
            next = state.withLock { state in
                state.machine.handedOver(outgoing, result, &output)
                callers = prepare(&state, &output)
                return state.machine.nextOutgoing()
            }
            deliver(output.deliveries)
            carryOut(&output, callers)
        }
    }

    /// Passes the turn on: under a flood of other callers it would never end, and its caller never return.
    private func passTurn(_ outgoing: LinkMachine.Outgoing) {
        let number = state.withLock { state in
            state.handOvers += 1
            return state.handOvers
        }
        var successor: RadioActivity? = timeline.schedule(after: .zero) { [weak self] in self?.send(outgoing) }
        // The successor may already have had its turn, and passed it on: the one with the last number is kept. The
        // other is released outside the lock.
        state.withLock { state in
            if state.handOvers == number { swap(&state.successor, &successor) }
        }
    }

    /// Hands a command to the radio at once, if nothing else must leave first: the short path for a command that needs
    /// no answer and no wait.
    ///
    /// - Returns: whether the radio accepted it; if not, begin the command as an operation.
    func sendAtOnce(_ command: [UInt8], pass: Pass? = nil) -> Bool {
        let rooms = state.withLock { $0.machine.takeTurn(forCommandOf: command.count, pass: pass) }
        guard let rooms else { return false }
        let result = radioLink.send(command)
        let (isFree, next) = state.withLock { state in
            (state.machine.handedOver(result, since: rooms), state.machine.nextOutgoing())
        }
        if let next { send(next) }
        if !isFree { step { machine, output in machine.endCommand(result, &output) } }
        return result == .sent
    }
}
