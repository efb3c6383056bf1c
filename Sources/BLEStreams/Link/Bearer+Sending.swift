import BLEProtocol
import BLERadio
import Synchronization

/// How PDUs leave: one at a time, without the lock, in the order in which the machines give them.
///
/// A system call takes longer than all else here; under the lock, who receives would wait for who sends. So whoever
/// finds something to send, and nobody sending, takes the turn, and keeps it until there is nothing more. Whoever comes
/// meanwhile leaves its PDU in the machine.
extension Bearer {
    struct Sending {
        /// Whether somebody has the turn.
        var isTaken = false
        /// The radio is full or over, and will call.
        var isBlocked = false
        /// What was received has to be delivered first.
        var isHeldBack = false
        /// Counts the radio's news of room, which may come before the one who was refused is back under the lock.
        var rooms = 0
        /// Goes on with a turn that one caller has had for long enough.
        var successor: RadioActivity?
        /// Counts the turns that were handed on.
        var handOvers = 0

        /// Whether the turn can be taken.
        var isFree: Bool { !isTaken && !isBlocked && !isHeldBack }
    }

    /// A PDU to hand to the radio, for whoever has the turn.
    struct Outgoing {
        let pdu: [UInt8]
        let isOfServer: Bool
        /// The count of rooms when it was taken.
        let rooms: Int
    }

    /// PDUs of others that one caller sends beside its own, at most.
    private static let turnLength = 64

    /// The PDU that leaves next, and the turn with it; `nil` where there is none, or it isn't the caller's to send.
    func nextOutgoing(_ state: inout State) -> Outgoing? {
        guard state.sending.isFree, state.end == nil else { return nil }
        state.server.isExchangingMTU = state.client.isExchangingMTU
        if state.server.mtu != state.client.mtu { state.server.setMTU(state.client.mtu) }
        guard state.client.hasSomethingToSend || state.server.hasSomethingToSend else { return nil }
        let (pdu, isOfServer): ([UInt8], Bool)
        if let next = state.server.nextPDU() {
            if let mtu = state.server.sending() { state.client.setMTU(mtu) }
            (pdu, isOfServer) = (next, true)
        } else if let next = state.client.nextPDU() {
            state.client.sending()
            (pdu, isOfServer) = (next, false)
        } else {
            return nil
        }
        state.sending.isTaken = true
        return Outgoing(pdu: pdu, isOfServer: isOfServer, rooms: state.sending.rooms)
    }

    /// Hands PDUs to the radio for as long as there are any and it takes them. The caller has the turn.
    func send(_ first: Outgoing) {
        var next: Outgoing? = first
        var count = 0
        while let outgoing = next {
            if count == Self.turnLength { return passTurn(outgoing) }
            count += 1
            let result = radioLink.send(outgoing.pdu)
            var effects = Effects()
            next = state.withLock { state in
                state.sending.isTaken = false
                note(result, of: outgoing, &state, &effects)
                return nextOutgoing(&state)
            }
            perform(effects)
        }
    }

    /// Under a flood of other callers a turn would never end, and its caller not return.
    private func passTurn(_ outgoing: Outgoing) {
        let number = state.withLock { state in
            state.sending.handOvers += 1
            return state.sending.handOvers
        }
        var successor: RadioActivity? = timeline.schedule(after: .zero) { [weak self] in self?.send(outgoing) }
        // It may have had its turn already, and have handed on: whose number is the last one is kept. The other one is
        // let go outside the lock.
        state.withLock { state in
            if state.sending.handOvers == number { swap(&state.sending.successor, &successor) }
        }
    }

    private func note(
        _ result: SendResult,
        of outgoing: Outgoing,
        _ state: inout State,
        _ effects: inout Effects
    ) {
        switch (result, outgoing.isOfServer) {
        case (.sent, true): take(state.server.sent(), &state, &effects)
        case (.sent, false): take(state.client.sent(), &state, &effects)
        case (.full, true), (.ended, true): state.server.notSent()
        case (.full, false), (.ended, false): take(state.client.notSent(), &state, &effects)
        }
        block(after: result, state.sending.rooms == outgoing.rooms, &state)
    }

    /// Full, or over: in both cases the radio calls when there is something to do, unless it has called meanwhile.
    private func block(after result: SendResult, _ hasNoNews: Bool, _ state: inout State) {
        switch result {
        case .sent: break
        case .full: if hasNoNews { state.sending.isBlocked = true }
        case .ended: state.sending.isBlocked = true
        }
    }

    /// Hands a command to the radio at once, where nothing else has to leave first: the short way of what needs no
    /// answer and no waiting.
    ///
    /// - Returns: whether the radio took it; where it didn't, the command has to be begun as a procedure.
    func sendAtOnce(_ command: [UInt8]) -> Bool {
        let rooms: Int? = state.withLock { state in
            guard command.count <= GATTClient.maximumCommandSize(mtu: state.client.mtu), state.sending.isFree,
                !state.client.isHeld, state.end == nil, state.closeReason == nil
            else { return nil }
            state.sending.isTaken = true
            return state.sending.rooms
        }
        guard let rooms else { return false }
        let result = radioLink.send(command)
        let next = state.withLock { state in
            state.sending.isTaken = false
            block(after: result, state.sending.rooms == rooms, &state)
            return nextOutgoing(&state)
        }
        if let next { send(next) }
        return result == .sent
    }

    /// The radio has room again.
    func unblock() {
        change { state, _ in
            state.sending.rooms += 1
            state.sending.isBlocked = false
        }
    }
}
