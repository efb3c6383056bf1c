/// The server half of the Attribute Protocol on one bearer: PDUs of one client in, answers and events out.
///
/// A value without I/O, time or lock. Its driver passes it each request, command and confirmation, does what the
/// ``Output`` says, and takes the PDUs to send:
///
/// ```
///   received(pdu) ──► Output.reads, .writes ──► the program ──► respond(to: token)
///        │                                                          │
///        ▼                                                          ▼
///   responses ─────────┐          (values that the database stores are answered at once)
///   notify(…) ─────────┼──► nextPDU() ──► the link ──► sent()
///   indicate(…) ───────┘    in this order; an indication only once the one before is confirmed
/// ```
///
/// `nextPDU()` returns the same PDU until `sent()`. The ``AttributeDatabase`` is shared by all clients of a device, so
/// it is not kept here but lent to each call that needs it. A client's own state is in ``client``.
///
/// A second request before the first was answered breaks the specification (Vol 3, Part F, 3.3.2); a few are kept and
/// answered in order, beyond ``Limits/outstandingRequests`` the bearer is closed. The server tolerates what does no
/// harm: PDUs that don't fit are ignored with a note.
package struct ATTServer: Sendable {
    /// ATT_MTU, in octets: 23 until an exchange.
    package private(set) var mtu = ATTLimits.defaultMTU

    /// The state kept for the client.
    package internal(set) var client: ServerClient

    /// Whether this device's client half has requested an MTU exchange that is not answered yet: until then the server
    /// sends no notification and no indication (Vol 3, Part F, 3.4.2). Set by the driver.
    package var isExchangingMTU = false

    /// Whether this device gives the bearer up: nothing more is sent on it, and its end may be a while off. Set by the
    /// driver.
    package var isGivenUp = false

    /// Whether the bearer has ended; then the server does nothing any more.
    package private(set) var hasEnded = false

    let maximumMTU: Int
    let limits: Limits
    /// The link's protection, as last reported.
    package internal(set) var security = ATTSecurity.none

    /// The request that waits for the program's answer.
    var question: Question?
    /// Requests that came too early, in order.
    private var waiting: [Request] = []
    var outbox = ServerOutbox()
    private var tokens: UInt64 = 0
    var indications: UInt64 = 0
    /// The client's subscriptions from an earlier link of which the program isn't told yet.
    var kept: Kept
    /// The characteristics that the client has configured on this bearer, also those that it has switched off.
    package internal(set) var configured: Set<UInt16> = []
    /// The state with which a client that missed a change becomes aware of it.
    var caching = Caching()
    /// The stored values that the client is reading in parts, by their handles.
    var longReads: [UInt16: LongRead] = [:]

    /// Makes the server half of a new bearer.
    ///
    /// - Parameters:
    ///   - maximumMTU: the MTU offered in an exchange, 23 to 517; the client half must offer the same.
    ///   - client: a new client's state, or the kept state of a bonded one.
    ///   - limits: how much the client can make the server keep.
    package init(maximumMTU: Int, client: ServerClient = ServerClient(), limits: Limits = Limits()) {
        self.maximumMTU = min(max(maximumMTU, ATTLimits.defaultMTU), Int(UInt16.max))
        self.client = client
        kept = Kept(handles: Set(client.configurations.keys))
        self.limits = limits
    }
}

// MARK: - What the driver calls

extension ATTServer {
    /// Takes a PDU that the client sent to the server: a request, a command or a confirmation.
    package mutating func received(
        _ pdu: [UInt8],
        security: ATTSecurity,
        database: inout AttributeDatabase
    ) -> Output {
        var output = Output()
        guard !hasEnded else { return output }
        self.security = security
        takeNote(of: database, &output)
        if hasKept { tellKept(database, &output) }
        guard let first = pdu.first else {
            output.notes.append("an empty PDU was ignored")
            return output
        }
        let opcode = ATTOpcode(rawValue: first)
        switch opcode.kind {
        case .request, .unknown:
            let request = Request(pdu: pdu, opcode: opcode, security: security, mtu: mtu)
            let outstanding = waiting.count + outbox.responseCount + (question == nil ? 0 : 1)
            if outstanding >= limits.outstandingRequests {
                output.notes.append("\(opcode) came while \(outstanding) requests were not answered yet")
                end(.init(.protocolViolation), &output)
            } else if question != nil {
                waiting.append(request)
            } else {
                serve(request, &database, &output)
            }
        case .command:
            obey(pdu, opcode, &database, &output)
        case .confirmation:
            confirm(pdu, &output)
        case .response where Self.answersIndication(pdu):
            confirmByError(&output)
        case .response, .notification, .indication:
            output.notes.append("\(opcode) is not for a server and was ignored")
        }
        return output
    }

    /// Whether a PDU is an Error Response to an indication, which concerns the server half and not the client half.
    package static func answersIndication(_ pdu: [UInt8]) -> Bool {
        pdu.count >= 2 && pdu[0] == ATTOpcode.errorResponse.rawValue
            && pdu[1] == ATTOpcode.handleValueIndication.rawValue
    }

    /// Continues a request with the program's answer: a read with the whole value, a write with success and any octets,
    /// either with an error that the client gets.
    package mutating func respond(
        to token: RequestToken,
        with result: Result<[UInt8], ATTError>,
        database: inout AttributeDatabase
    ) -> Output {
        var output = Output()
        guard let question, question.token == token else {
            output.notes.append("an answer came twice or too late and was ignored")
            return output
        }
        self.question = nil
        finish(question.request, &output) { server, output throws(Refusal) in
            try server.resume(question, with: result, &database, &output)
        }
        while self.question == nil, !hasEnded, !waiting.isEmpty {
            serve(waiting.removeFirst(), &database, &output)
        }
        return output
    }

    /// The link has lost PDUs of the client: a request among them is never answered, and a command is missing.
    package func dropped(_ count: Int) -> Output {
        var output = Output()
        if !hasEnded { output.lostPDUs = count }
        return output
    }

    /// Sets ATT_MTU after an exchange that this device's client half requested.
    package mutating func setMTU(_ mtu: Int) {
        let former = self.mtu
        self.mtu = min(max(mtu, ATTLimits.defaultMTU), maximumMTU)
        if self.mtu < former { outbox.mtuBecameSmaller() }
    }

    /// Sets the link's current protection; each received PDU sets it too.
    package mutating func setSecurity(_ security: ATTSecurity) { self.security = security }

    /// Sets whether the program has authorized the client.
    package mutating func setAuthorized(_ isAuthorized: Bool) { client.isAuthorized = isAuthorized }

    /// The time limit of an indication is over: 30 s without a confirmation end the bearer (Vol 3, Part F, 3.3.3).
    package mutating func timerFired(_ id: IndicationID) -> Output {
        var output = Output()
        guard !hasEnded, outbox.unconfirmed == id else { return output }
        output.notes.append("an indication was not confirmed")
        end(.init(.transactionTimeout), &output)
        return output
    }

    /// The bearer has ended: pending requests are given up, and prepared writes are discarded.
    ///
    /// ``client`` can still be taken and kept.
    package mutating func ended() -> Output {
        var output = Output()
        end(nil, &output)
        output.subscriptionChanges += client.configurations.keys.sorted().map {
            SubscriptionChange(characteristic: $0, subscription: .none)
        }
        return output
    }
}

// MARK: - Inside

extension ATTServer {
    /// Answers a request, or asks the program.
    private mutating func serve(_ request: Request, _ database: inout AttributeDatabase, _ output: inout Output) {
        becomeAwareByAsking(&output)
        finish(request, &output) { server, output throws(Refusal) in
            try server.answer(request, &database, &output)
        }
    }

    /// Queues the response that `body` makes, or the error; nothing if it returns `nil`, since the program was asked.
    private mutating func finish(
        _ request: Request,
        _ output: inout Output,
        _ body: (inout ATTServer, inout Output) throws(Refusal) -> Response?
    ) {
        do throws(Refusal) {
            if let response = try body(&self, &output) { outbox.add(response) }
        } catch {
            outbox.add(Response(ATTErrorResponse(request: request.opcode, error)))
        }
    }

    /// Keeps a request until the program has answered.
    mutating func ask(_ request: Request, _ continuation: Continuation) -> RequestToken {
        tokens += 1
        let token = RequestToken(number: tokens)
        question = Question(token: token, request: request, continuation: continuation)
        return token
    }

    mutating func end(_ reason: DisconnectReason?, _ output: inout Output) {
        guard !hasEnded else { return }
        hasEnded = true
        output.close = reason
        output.cancelled = question.map { [$0.token] } ?? []
        if let id = outbox.unconfirmed { output.timer = .stop(id) }
        output.unconfirmed += outbox.clear()
        question = nil
        waiting = []
        _ = client.preparedWrites.take()
    }
}
