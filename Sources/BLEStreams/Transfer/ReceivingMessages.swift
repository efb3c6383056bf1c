import BLEProtocol
import BLERadio
import Synchronization

extension PeripheralServer {
    /// A message that a central has written in chunks; see ``PeripheralServer/messages(to:endingWith:maximumSize:)``.
    public struct CentralMessage: Sendable {
        /// The central that wrote it.
        public let central: ConnectedCentral

        /// The message, without its end mark.
        public let octets: [UInt8]
    }
}

extension PeripheralServer {
    /// The messages that centrals write in chunks, assembled: the counterpart of
    /// ``CharacteristicAccess/send(_:to:endingWith:_:beginsAnew:onProgress:)``.
    ///
    /// ```swift
    /// let wishes = BluetoothUUID(0xFFF2)
    /// let listener = LocalPeripheral(name: "Listener") {
    ///     LocalService(BluetoothUUID(0xFFF0)) {
    ///         LocalCharacteristic(wishes, [.write, .writeWithoutResponse], value: .dynamic)
    ///     }
    /// }
    /// try await listener.run { server in
    ///     for try await wish in server.messages(to: wishes, endingWith: .endOfMessage("EOM")) {
    ///         print("\(wish.octets.count) octets from \(wish.central)")
    ///     }
    /// }
    /// ```
    ///
    /// Each central's chunks are assembled separately. A write is accepted when it is taken, so a central that waits
    /// for answers writes no faster than the stream is iterated. An incomplete message is dropped when its central
    /// leaves. If a message grows too long, or chunks were lost, that central's link is dropped and the program is
    /// warned, since the message boundaries are lost. Chunks are lost if they arrive faster than the stream is
    /// iterated. Chunks without response are also lost if they are written before the central knows that the services
    /// were replaced, if they are signed, if the characteristic's closure refuses them or takes longer than 20 s, and
    /// if the kernel has no room for them.
    ///
    /// Iterate it in one loop for as long as messages may come, and no ``writes()`` of the characteristic beside it: an
    /// older iteration gets what is written with response. A message that is under way when an iteration ends is
    /// lost, as is one behind another in the same chunk; if its central writes in a later iteration, that central's
    /// link is dropped, and the program is warned. What is written between two iterations is refused, and lost if it
    /// was written without response, or where the server stores the value or a closure accepts it. If what is lost was
    /// a message without its end, or any with ``EndMark/lengthPrefix(octets:order:)``, and the central goes on in a
    /// later iteration, its link is dropped, and the program is warned.
    ///
    /// - Parameters:
    ///   - key: the characteristic.
    ///   - mark: how a message ends; by default "EOM" as a chunk of its own.
    ///   - maximumSize: the largest message in octets, without mark and prefix; 1 MiB by default.
    /// - Returns: a stream that ends when the server stops, and throws when the adapter fails.
    public func messages(
        to key: some CharacteristicKey,
        endingWith mark: EndMark = .endOfMessage(),
        maximumSize: Int = 1 << 20
    ) -> BLEStream<PeripheralServer.CentralMessage> {
        precondition(maximumSize >= 0, "a message can't have a negative size")
        let name = key.reference.selector
        return chunks(to: name, endingWith: mark).lift { upstream, _ in
            var assemblies = Assemblies(of: name, mark, maximumSize: maximumSize, calls: self.calls)
            var isOver = false
            func poll() throws -> Polled<PeripheralServer.CentralMessage> {
                while true {
                    if let message = assemblies.ready.popLast() { return .element(message) }
                    switch try upstream.poll() {
                    case .element(.write(let waiting)):
                        let central = waiting.element.central
                        if let fault = assemblies.accept(waiting) { self.giveUp(on: central, fault, name) }
                    case .element(.broken(let central, let fault, let allowance)):
                        assemblies.giveUp(central, beside: allowance)
                        self.giveUp(on: central, fault, name)
                    case .gap(let gap): return .gap(gap)
                    case .pending: return .pending
                    case .end:
                        // A later operator may have stopped it in the middle of a message, and the server goes on.
                        assemblies.interruptAll()
                        isOver = true
                        return .end
                    }
                    // What was accepted is delivered: its central takes it for that.
                    if Task.isCancelled, assemblies.ready.isEmpty { return .pending }
                }
            }
            return Cursor(
                poll: poll,
                stop: upstream.stop,
                close: {
                    if !isOver { assemblies.abandon(upstream) }
                    isOver = true
                    upstream.close()
                }
            )
        }
    }

    /// The chunks that centrals write, and for each central the place where one was first dropped.
    private func chunks(to name: CharacteristicSelector, endingWith mark: EndMark) -> BLEStream<Incoming> {
        let subject = StreamSubject(operation: "messages", object: "to \(name)")
        return BLEStream(subject, timeline: radio.timeline, buffer: .unbounded) { mailbox in
            self.iterated.add(name, endingWith: mark)
            let allowance = Allowance()
            let broken = BrokenCentrals()
            let lose: @Sendable (ConnectedCentral, Fault) -> Void = { central, fault in
                if broken.isFirstLoss(of: central, central.id) { mailbox.send(.broken(central, fault, allowance)) }
                mailbox.lost(1)
            }
            return self.watch(name, finish: { mailbox.finish(throwing: $0) }) { event in
                if case .lostWrite(let central, let error) = event { lose(central, .ignored(error)) }
                if case .refusedWrite(let central, let isFlood) = event { lose(central, isFlood ? .dropped : .refused) }
                if case .lostPDUs(let central, _) = event { lose(central, .missing) }
                guard case .write(let request) = event else { return .no }
                guard let place = allowance.place(for: request.central.id) else {
                    lose(request.central, .dropped)
                    return .full
                }
                mailbox.send(.write(Waiting(element: request, place: place)))
                return .yes
            }
        }
    }

    private func giveUp(on central: ConnectedCentral, _ fault: Fault, _ name: CharacteristicSelector) {
        warnings.tell(.brokenMessage(central.address)) { _ in .brokenMessage(fault, "to \(name) by \(central)") }
        central.bearer.close(DisconnectReason(.protocolViolation))
    }
}

private enum Incoming: Sendable {
    case write(Waiting<PeripheralServer.WriteRequest>)
    /// A chunk of this central was lost here; its chunks and those of others wait in the allowance.
    case broken(ConnectedCentral, Fault, Allowance)
}

/// Why a central's messages can't be assembled.
private enum Fault {
    case tooLong(Int)
    case dropped
    /// A chunk without response was ignored, for this reason.
    case ignored(ATTError)
    /// The characteristic's closure has refused a chunk without response, or has taken too long for it.
    case refused
    /// The link has lost PDUs, and a chunk without response may be among them.
    case missing
    /// An earlier iteration ended in the middle of a message.
    case interrupted
}

/// The unfinished messages, separately for each central.
private struct Assemblies {
    private struct Assembly {
        let central: ConnectedCentral
        var assembler: MessageAssembler
    }

    /// Complete messages, the newest first.
    var ready: [PeripheralServer.CentralMessage] = []
    private let name: CharacteristicSelector
    private let mark: EndMark
    private let maximumSize: Int
    private let calls: ClosureCalls
    private var underWay: [Int: Assembly] = [:]
    /// The centrals whose messages can no longer be assembled: what still waits of one that has left by itself is the
    /// rest of a message, and no whole one.
    private var givenUp: [Int: ConnectedCentral] = [:]

    init(of name: CharacteristicSelector, _ mark: EndMark, maximumSize: Int, calls: ClosureCalls) {
        self.name = name
        self.mark = mark
        self.maximumSize = maximumSize
        self.calls = calls
    }

    /// Accepts a chunk and adds it; returns why the central's messages can no longer be assembled, if so.
    ///
    /// A chunk that was refused because it waited for too long is the central's to write again. One of a lost message
    /// isn't accepted: with the answer to the last one, its central would take the message for delivered. The end of
    /// the link is the answer.
    mutating func accept(_ chunk: Waiting<PeripheralServer.WriteRequest>) -> Fault? {
        var fault: Fault?
        _ = chunk.element.acceptInTime {
            fault = take(chunk)
            return fault == nil
        }
        return fault
    }

    private mutating func take(_ chunk: Waiting<PeripheralServer.WriteRequest>) -> Fault? {
        let (write, central) = (chunk.element, chunk.element.central)
        // Written before its link was dropped for an error.
        guard givenUp[central.id] == nil, central.bearer.end?.kind != .protocolViolation else { return nil }
        if underWay[central.id] == nil, isInterrupted(central) { return .interrupted }
        var assembly = underWay[central.id] ?? begin(central, beside: chunk.place.allowance)
        assembly.assembler.append(write.value)
        do throws(MessageAssembler.TooLong) {
            while let octets = try assembly.assembler.next() {
                ready.insert(PeripheralServer.CentralMessage(central: central, octets: octets), at: 0)
            }
        } catch {
            giveUp(central, beside: chunk.place.allowance)
            return .tooLong(maximumSize)
        }
        underWay[central.id] = assembly
        return nil
    }

    /// Takes no more chunks of a central.
    mutating func giveUp(_ central: ConnectedCentral, beside waiting: Allowance) {
        removeThoseThatLeft(beside: waiting)
        underWay[central.id] = nil
        givenUp[central.id] = central
    }

    /// The iteration ends: its unfinished messages are lost, complete ones that nobody has taken, and what is waiting.
    /// Requests among that are refused.
    func abandon(_ chunks: Cursor<Incoming>) {
        chunks.stop()
        interruptAll()
        while true {
            switch try? chunks.poll() {
            case .element(.write(let waiting)): if !waiting.element.awaitsAnswer { interrupt(waiting.element.central) }
            case .element(.broken(let central, _, _)): interrupt(central)
            case .gap: break
            case .pending, .end, nil: return
            }
        }
    }

    /// The centrals of which there is a part of a message, or a complete one that nobody has taken, write no whole one
    /// next.
    func interruptAll() {
        for message in ready { interrupt(message.central) }
        for assembly in underWay.values where assembly.assembler.unfinished != nil { interrupt(assembly.central) }
        for central in givenUp.values { interrupt(central) }
    }

    private func isInterrupted(_ central: ConnectedCentral) -> Bool {
        central.state.withLock { $0.interruptedMessages.contains(name) }
    }

    private func interrupt(_ central: ConnectedCentral) {
        central.state.withLock { $0.interruptedMessages.insert(name) }
    }

    /// Begins with a central's first chunk.
    private mutating func begin(_ central: ConnectedCentral, beside waiting: Allowance) -> Assembly {
        removeThoseThatLeft(beside: waiting)
        return Assembly(central: central, assembler: MessageAssembler(mark, maximumSize: maximumSize))
    }

    /// Removes the centrals that have left, but for those of which more chunks are to come: without what came before,
    /// the rest of a message would be taken for a whole one.
    private mutating func removeThoseThatLeft(beside waiting: Allowance) {
        let calls = calls
        func mayCome(from central: ConnectedCentral) -> Bool {
            // A chunk waits for a closure first, and then for the iteration.
            central.bearer.end == nil || calls.hasCalls(of: central.id) || waiting.holds(central.id)
        }
        underWay = underWay.filter { mayCome(from: $0.value.central) }
        givenUp = givenUp.filter { mayCome(from: $0.value) }
    }
}

extension BLEError {
    fileprivate static func brokenMessage(_ fault: Fault, _ object: String) -> BLEError {
        let (cause, remedy) =
            switch fault {
            case .tooLong(let maximum):
                (
                    "a message is longer than \(maximum) octets, so its link was dropped",
                    "Check that the end mark matches the central's, or allow larger messages with maximumSize."
                )
            case .dropped:
                (
                    "it writes faster than the program takes messages, and chunks were lost, so its link was dropped",
                    "Take messages faster, or let centrals write with response."
                )
            case .ignored(.invalidAttributeValueLength):
                (
                    "a chunk that it wrote without response is longer than the characteristic allows, so its link was "
                        + "dropped",
                    "Declare the characteristic with a larger maximumLength."
                )
            case .ignored(.requestNotSupported):
                (
                    "a chunk was written with a signature, which this server can't verify, so its link was dropped",
                    "Declare the characteristic without .authenticatedSignedWrites."
                )
            case .refused:
                (
                    "the characteristic's closure refused a chunk that it wrote without response, so its link was "
                        + "dropped",
                    "Accept each chunk in the closure within 20 s, or let centrals write with response."
                )
            case .missing:
                (
                    "the kernel had no room for something that it sent, which may have been a chunk, so its link was "
                        + "dropped",
                    "Let centrals write more slowly, or with response to a characteristic that offers only that."
                )
            case .interrupted:
                (
                    "an iteration of its messages ended before one was complete or taken, and it goes on writing, so "
                        + "its link was dropped",
                    "Iterate PeripheralServer.messages(to:) in one loop for as long as messages may come."
                )
            case .ignored:
                (
                    "the services were replaced while it wrote without response, and chunks were lost, so its link was "
                        + "dropped",
                    "Replace services while no message is under way, or let centrals write with response."
                )
            }
        return BLEError(.overflow, operation: "messages", object: object, cause: cause, remedy: remedy)
    }
}
