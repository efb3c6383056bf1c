import BLEProtocol
import FuzzedProcedures

extension FuzzTarget {
    /// A server that answers anything, or says it unasked, to the client half while procedures run.
    static let attClient = FuzzTarget("att-client", longest: 1024, seeds: ATTClientRun.seeds) { octets in
        var run = ATTClientRun(octets)
        while !run.input.isAtEnd { try run.step() }
        try run.end()
    }
}

/// One bearer of the client half, and what must hold all along.
private struct ATTClientRun {
    var input: FuzzInput
    private var client = GATTClient(maximumMTU: 517)
    private var open: Set<GATTClient.ProcedureID> = []
    private var request: [UInt8]?
    private var timer: GATTClient.TimerID?
    private var handedOver: [UInt8]?
    /// Indications that are not confirmed yet.
    private var unconfirmed = 0

    init(_ octets: [UInt8]) { input = FuzzInput(octets) }

    mutating func step() throws {
        switch input.number(below: 12) {
        case 0, 1: try begin()
        case 2, 3: try hand()
        case 4...6:
            // As the answer to what was asked last.
            guard let opcode = request?.first else { return try receive(input.chunk()) }
            try receive([opcode &+ 1] + input.chunk())
        case 7: try receive(input.chunk())
        case 8:
            guard let asked = request, asked.count > 2 else { return }
            try receive([0x01, asked[0], asked[1], asked[2], input.octet()])
        case 9:
            guard let id = open.min() else { return }
            let output = client.cancel(id)
            try require(output.finished.contains { $0.id == id }, "\(id) was not cancelled")
            try take(output)
        case 10:
            guard let timer, input.number(below: 4) == 0 else { return }
            (self.timer, request) = (nil, nil)
            try take(client.timerFired(timer))
        default:
            client.isHeld = input.chance()
            client.setMTU(Int(input.uint16()) % 1024)
        }
    }

    private mutating func receive(_ pdu: [UInt8]) throws {
        let wasOpen = request != nil
        if pdu.first == 0x1D, client.nextPDU() != nil || !client.isOver { unconfirmed += 1 }
        let output = client.received(pdu, at: ReceptionTime(sinceEpoch: .zero, source: .kernel))
        try require(output.timer == nil || wasOpen, "an answer to nothing stopped the timer")
        try require(output.notes.count <= 1, "more than a line: \(output.notes)")
        if case .stop = output.timer { request = nil }
        let octets = output.values.reduce(0) { $0 + $1.value.count }
        try require(octets <= pdu.count, "values of more octets than came")
        try take(output)
    }

    private mutating func hand() throws {
        if let pdu = handedOver {
            handedOver = nil
            guard input.number(below: 4) > 0 else { return try take(client.notSent()) }
            try take(client.sent())
            if pdu.first == 0x1E { unconfirmed -= 1 }
            return try require(unconfirmed >= 0, "a confirmation for nothing")
        }
        guard let pdu = client.nextPDU() else { return }
        try require(pdu.count <= 517, "a PDU of \(pdu.count) octets")
        try require(client.nextPDU() == pdu, "the next PDU changed")
        if ATTOpcode(rawValue: pdu[0]).kind == .request {
            try require(timer == nil, "a second request while one is open")
            request = pdu
        }
        client.sending()
        handedOver = pdu
    }

    private mutating func take(_ output: GATTClient.Output) throws {
        for finished in output.finished {
            try require(open.remove(finished.id) != nil, "\(finished.id) ended twice")
        }
        switch output.timer {
        case .start(let id, _): timer = id
        case .stop: timer = nil
        case nil: break
        }
    }

    mutating func end() throws {
        try take(client.ended(DisconnectReason(.closedLocally)))
        try require(open.isEmpty, "never finished: \(open)")
        try require(timer == nil, "the timer was left running")
        try require(client.nextPDU() == nil, "something is sent on a closed bearer")
    }

    private mutating func begin() throws {
        let kind = input.number(below: FuzzedProcedure.count)
        let (id, output) = client.begin(FuzzedProcedure.make(kind, from: &input))
        open.insert(id)
        try take(output)
    }

    /// Each procedure with an answer as servers give it, and another one.
    static var seeds: [[UInt8]] {
        let answers: [Int: [[UInt8]]] = [
            0: [[0x40, 0]], 1: [[1, 2, 3]], 2: [[]], 4: [[5, 0, 0, 0, 1, 2]], 5: [[]], 6: [[3, 7, 0, 9]],
            7: [[1, 0, 9, 1, 0, 8]], 8: [[1, 2]], 9: [[5, 0, 8, 0]], 10: [[8, 5, 0, 9, 0, 12, 0, 0x0A, 0x18]],
            11: [[1, 3, 0, 2, 0x29]], 12: [[6, 5, 0, 9, 0, 0x0A, 0x18]], 13: [[7, 5, 0, 2, 6, 0, 0, 0x2A]],
            14: [[1]],
            16: [
                [6, 1, 0, 9, 0, 0x0A, 0x18], [6, 10, 0, 0xFF, 0xFF, 0x0D, 0x18], [8, 2, 0, 20, 0, 21, 0, 1, 0x18],
                [7, 3, 0, 0x32, 4, 0, 0x37, 0x2A], [1, 5, 0, 2, 0x29],
            ],
        ]
        return answers.map { kind, answers in
            let begin: [UInt8] = [0, UInt8(kind), 5, 0, 1, 0, 0]
            return begin + answers.flatMap { [2, 2, 1, 4, UInt8($0.count)] + $0 } + [
                2, 2, 1, 8, 0x0A, 2, 2, 1, 8, 0x0A,
            ]
        }
    }
}

extension FuzzInput: ProcedureArguments {}

extension GATTClient {
    /// Whether the bearer can't be used any more.
    fileprivate var isOver: Bool {
        var copy = self
        let (_, output) = copy.begin(SettleBearer())
        guard case .failure(.disconnected) = output.finished.first?.result else { return false }
        return true
    }
}
