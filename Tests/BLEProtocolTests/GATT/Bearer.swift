import Testing

@testable import BLEProtocol

/// A client half with a radio that takes every PDU at once, to write conversations down.
struct Bearer {
    typealias Output = GATTClient.Output
    typealias Finished = GATTClient.Finished

    var client: GATTClient
    /// What the machine said since it was asked last.
    private(set) var finished: [Finished] = []
    private(set) var values: [GATTClient.ReceivedValue] = []
    private(set) var notes: [String] = []
    private(set) var close: DisconnectReason?
    /// The timer that runs.
    private(set) var timer: GATTClient.TimerID?

    static let time = ReceptionTime(sinceEpoch: .seconds(1), source: .simulation)

    init(maximumMTU: Int = 517) { client = GATTClient(maximumMTU: maximumMTU) }

    /// A bearer on which both sides agreed on an MTU.
    init(mtu: Int) {
        self.init()
        client.setMTU(mtu)
    }

    mutating func begin(_ procedure: some GATTProcedure) -> GATTClient.ProcedureID {
        let (id, output) = client.begin(procedure)
        take(output)
        return id
    }

    mutating func cancel(_ id: GATTClient.ProcedureID) { take(client.cancel(id)) }

    mutating func receive(_ hexText: String) { take(client.received(pdu(hexText), at: Self.time)) }

    mutating func end(_ reason: DisconnectReason) { take(client.ended(reason)) }

    /// Fires the running timer.
    mutating func fire(sourceLocation: SourceLocation = #_sourceLocation) {
        guard let timer else {
            Issue.record("no timer runs", sourceLocation: sourceLocation)
            return
        }
        self.timer = nil
        take(client.timerFired(timer))
    }

    /// The radio took what ``GATTClient/nextPDU()`` gave.
    mutating func sent() { take(client.sent()) }

    /// What is to be sent next is handed to the radio, which has not said yet whether it takes it.
    mutating func startSending(_ hexText: String, sourceLocation: SourceLocation = #_sourceLocation) {
        let next = client.nextPDU()
        #expect(next.map { hex($0) } == hex(pdu(hexText)), sourceLocation: sourceLocation)
        client.sending()
    }

    /// The radio did not take it.
    mutating func notSent() { take(client.notSent()) }

    /// The radio takes all there is to send.
    mutating func send() -> [String] {
        var sent: [String] = []
        while let next = client.nextPDU() {
            sent.append(hex(next))
            take(client.sent())
        }
        return sent
    }

    /// The radio takes exactly these PDUs, no others.
    mutating func expectSends(_ hexTexts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
        let sent = send()
        #expect(sent == hexTexts.map { hex(pdu($0)) }, sourceLocation: sourceLocation)
    }

    /// One request goes out and is answered.
    mutating func expect(
        _ request: String,
        answeredWith response: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let sent = send()
        #expect(sent == [hex(pdu(request))], sourceLocation: sourceLocation)
        receive(response)
    }

    /// Exactly these procedures have ended since the last look.
    mutating func expectFinished(_ expected: Finished..., sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(finished == expected, sourceLocation: sourceLocation)
        finished = []
    }

    mutating func forgetFinished() { finished = [] }

    mutating func expectNotes(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(notes.count == count, "\(notes)", sourceLocation: sourceLocation)
        notes = []
    }

    mutating func takeValues() -> [GATTClient.ReceivedValue] {
        defer { values = [] }
        return values
    }

    private mutating func take(_ output: Output) {
        finished += output.finished
        values += output.values
        notes += output.notes
        if let close = output.close { self.close = close }
        switch output.timer {
        case .start(let id, _): timer = id
        case .stop(let id): if timer == id { timer = nil }
        case nil: break
        }
    }
}

extension GATTClient.Finished {
    static func success(_ id: GATTClient.ProcedureID) -> Self { Self(id: id, result: .success(.done)) }

    static func success(_ id: GATTClient.ProcedureID, _ value: some Sendable) -> Self {
        Self(id: id, result: .success(GATTSuccess(value)))
    }

    static func failure(_ id: GATTClient.ProcedureID, _ failure: GATTFailure) -> Self {
        Self(id: id, result: .failure(failure))
    }
}
