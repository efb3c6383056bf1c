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
                prepare(&state, &output, &callers)
                return state.machine.nextOutgoing()
            }
            deliver(output.deliveries)
            carryOut(&output, &callers)
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

    /// Hands the radio again what it has refused, and what waits behind that, though it hasn't told of room: it may
    /// tell only when much of its buffer is free, and takes PDUs long before.
    ///
    /// - Returns: `false` if somebody else is handing over a PDU at this moment.
    @discardableResult
    func sendAgain() -> Bool { step { machine, _ in machine.tryAgain() } }
}

extension Bearer: ATTLinkReceiver {
    func linkReceived(_ pdus: consuming ReceivedPDUs) {
        guard let run = pdus.notifications(from: 0), run.end == pdus.count else {
            return pdus.count == 1 ? takeAnswer(pdus.octets(of: 0), pdus.time(of: 0)) : takeEach(pdus)
        }
        let values = pdus.values(0..<run.end)
        // Released before the consumer gets the values: two threads that count references to the same octets slow each
        // other down.
        _ = consume pdus
        // The usual path: delivering the values is all there is to do.
        if let consumers = state.withLock({ $0.machine.received(from: run.handle) }) {
            for consumer in consumers { consumer.deliver(values) }
        } else {
            step { machine, output in
                machine.received(values, of: run.handle, &output)
                noteLevel(&machine)
            }
        }
    }

    /// Takes a PDU that came alone and isn't a notification: usually the answer to a request.
    private func takeAnswer(_ pdu: ArraySlice<UInt8>, _ time: ReceptionTime) {
        // One that came alone is the whole of its array, and isn't copied.
        let octets = Array(pdu)
        step { machine, output in
            guard machine.end == nil else { return }
            if machine.received(octets, at: time, &output) { return noteLevel(&machine) }
            let security = self.security
            database.withLock { machine.served(octets, security: security, database: &$0, &output) }
        }
    }

    /// Takes PDUs that are not all of one characteristic, each time up to one that ends an operation: within a step,
    /// values are delivered before callers are told, and those behind a response must come after it.
    private func takeEach(_ pdus: ReceivedPDUs) {
        var (index, security): (Int, ATTSecurity?) = (0, nil)
        while index < pdus.count { (index, security) = take(pdus, from: index, security) }
    }

    /// Takes PDUs from this one on, until an operation has ended.
    ///
    /// - Parameter security: the security of the link, if it is known already.
    /// - Returns: the number of the next one, and the security of the link if it was asked for.
    private func take(_ pdus: ReceivedPDUs, from first: Int, _ security: ATTSecurity?) -> (Int, ATTSecurity?) {
        step { machine, output in
            var (index, security) = (first, security)
            while index < pdus.count, output.finished.isEmpty {
                guard machine.end == nil else { return (pdus.count, security) }
                if let run = pdus.notifications(from: index) {
                    machine.received(pdus.values(index..<run.end), of: run.handle, &output)
                    noteLevel(&machine)
                    index = run.end
                    continue
                }
                let pdu = pdus[index]
                index += 1
                // One that came alone is the whole of its array, and isn't copied.
                let octets = Array(pdu.bytes)
                if machine.received(octets, at: pdu.time, &output) {
                    noteLevel(&machine)
                    continue
                }
                // Asking the kernel costs a system call; once per batch is enough.
                let current = security ?? self.security
                security = current
                database.withLock { machine.served(octets, security: current, database: &$0, &output) }
            }
            return (index, security)
        }
    }

    /// Notes how the link is protected with values that came for nobody yet: who subscribes later may demand more. It is
    /// how the link is protected when the value is read: the kernel doesn't say how it was when the value came.
    private func noteLevel(_ machine: inout LinkMachine) {
        if machine.early.lacksLevels { machine.early.note(radioLink.security.level) }
    }

    func linkDropped(_ count: Int) { step { machine, output in machine.dropped(count, &output) } }

    func linkBecameWritable() { step { machine, _ in machine.unblocked() } }

    func linkEncryptionFailed(_ error: BLEError) { surroundings.securityFailed(error) }

    func linkPaired(_ bond: Bond) { surroundings.paired(bond) }

    func linkEnded(_ reason: DisconnectReason) {
        // The link may have been encrypted after the peer's last PDU. Where it was not, there is nothing more to ask.
        if radioLink.security.isEncrypted { refreshSecurity() }
        let final = step { machine, output in machine.ended(reason, &output) }
        let (waits, raiser) = state.withLock { state in
            state.alarms.cancel()
            defer { state.waits = [:] }
            return (state.waits.values, state.raiser.take())
        }
        for wait in waits { wait.cancel() }
        withExtendedLifetime(raiser) { surroundings.ended(final) }
    }
}

extension ReceivedPDUs {
    /// The run of notifications of one characteristic that begins with this PDU, and where it ends; `nil` if the PDU
    /// isn't a notification. They change nothing in the machine.
    fileprivate func notifications(from first: Int) -> (handle: UInt16, end: Int)? {
        guard first < count, let handle = GATTClient.handle(ofNotification: head(of: first)) else { return nil }
        var end = first + 1
        while end < count, GATTClient.handle(ofNotification: head(of: end)) == handle { end += 1 }
        return (handle, end)
    }

    /// The values of notifications.
    fileprivate func values(_ range: Range<Int>) -> [CharacteristicValue] {
        range.map { index in
            CharacteristicValue(bytes: octets(of: index, from: GATTClient.valueOffset), time: time(of: index))
        }
    }
}
