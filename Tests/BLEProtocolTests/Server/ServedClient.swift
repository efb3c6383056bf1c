import BLEProtocol

/// A client of an ``ATTServer``, in hex: what it sends, what it gets, and what the server's program is told.
struct ServedClient {
    var server: ATTServer
    var database: AttributeDatabase
    var security = ATTSecurity.none
    /// What the last PDU led to.
    private(set) var output = ATTServer.Output()
    /// What the last change of the services did to the client's subscriptions.
    var changes: [ATTServer.SubscriptionChange] = []

    init(_ services: [LocalService], maximumMTU: Int = 517, limits: ATTServer.Limits = .init()) {
        self.init(AttributeDatabase(services: services), maximumMTU: maximumMTU, limits: limits)
    }

    init(_ database: AttributeDatabase, maximumMTU: Int = 517, limits: ATTServer.Limits = .init()) {
        server = ATTServer(maximumMTU: maximumMTU, limits: limits)
        self.database = database
    }

    /// Sends a PDU and returns what comes back, PDU by PDU.
    mutating func sends(_ request: String) -> [String] {
        output = server.received(WireText.octets(request), security: security, database: &database)
        return receives()
    }

    /// All that the server has to send.
    mutating func receives() -> [String] {
        var pdus: [String] = []
        while let pdu = server.nextPDU() {
            pdus.append(WireText.text(pdu))
            let sent = server.sent()
            if let mtu = sent.mtu { output.mtu = mtu }
            if let timer = sent.timer { output.timer = timer }
            output.room.formUnion(sent.room)
        }
        return pdus
    }

    /// The program answers, and what comes back is returned.
    mutating func program(
        answers token: ATTServer.RequestToken?,
        with result: Result<[UInt8], ATTError>
    ) -> [String] {
        guard let token else { return ["no token"] }
        output = server.respond(to: token, with: result, database: &database)
        return receives()
    }

    /// The program answers the read that it was asked for last.
    mutating func programGives(_ result: Result<[UInt8], ATTError>) -> [String] {
        program(answers: output.reads.first?.token, with: result)
    }

    /// The program answers the write that it was asked for last.
    mutating func programTakes(_ result: Result<[UInt8], ATTError>) -> [String] {
        program(answers: output.awaitedWrite, with: result)
    }

    mutating func exchangesMTU(_ mtu: UInt16) {
        _ = sends(WireText.text([2, UInt8(truncatingIfNeeded: mtu), UInt8(mtu >> 8)]))
    }
}

extension ATTServer.Output {
    /// The token of the write that the program must answer.
    var awaitedWrite: ATTServer.RequestToken? {
        guard case .awaited(let token)? = writes.last?.answer else { return nil }
        return token
    }
}
