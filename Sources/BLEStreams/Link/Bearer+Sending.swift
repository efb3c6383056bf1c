import BLEProtocol
import BLERadio
import Synchronization

/// How PDUs are handed to the radio: see ``LinkMachine/SendingTurn``.
extension Bearer {
    /// PDUs of others that one caller sends beside its own, at most.
    private static let turnLength = 64

    /// Hands PDUs to the radio for as long as there are any and it takes them. The caller has the turn.
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
                callers = prepare(&state, output)
                return state.machine.nextOutgoing()
            }
            deliver(output.deliveries)
            carryOut(output, callers)
        }
    }

    /// Under a flood of other callers a turn would never end, and its caller not return.
    private func passTurn(_ outgoing: LinkMachine.Outgoing) {
        let number = state.withLock { state in
            state.handOvers += 1
            return state.handOvers
        }
        var successor: RadioActivity? = timeline.schedule(after: .zero) { [weak self] in self?.send(outgoing) }
        // It may have had its turn already, and have handed on: whose number is the last one is kept. The other one is
        // let go outside the lock.
        state.withLock { state in
            if state.handOvers == number { swap(&state.successor, &successor) }
        }
    }

    /// Hands a command to the radio at once, where nothing else has to leave first: the short way of what needs no
    /// answer and no waiting.
    ///
    /// - Returns: whether the radio took it; where it didn't, the command has to be begun as an operation.
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
