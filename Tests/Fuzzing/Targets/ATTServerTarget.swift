import BLEProtocol

extension FuzzTarget {
    /// A client that sends anything, in any order, to the server half.
    static let attServer = FuzzTarget("att-server", longest: 1024, seeds: ATTServerRun.seeds) { octets in
        var run = ATTServerRun(octets)
        while !run.input.isAtEnd { try run.step() }
        try run.end()
    }
}

/// One bearer of the server half, and what must hold all along.
private struct ATTServerRun {
    var input: FuzzInput
    private var server = ATTServer(maximumMTU: 517)
    private var database = AttributeDatabase(services: Self.services)
    private var asked: [ATTServer.RequestToken] = []
    private var timers: Set<ATTServer.IndicationID> = []
    private var isOnItsWay = false
    /// The largest ATT_MTU so far: what was made for it stays as it is when a client lowers it.
    private var largestMTU = 23

    init(_ octets: [UInt8]) { input = FuzzInput(octets) }

    mutating func step() throws {
        defer { largestMTU = max(largestMTU, server.mtu) }
        switch input.number(below: 12) {
        case 0...3:
            let safety = input.octet()
            let security = ATTSecurity(
                isEncrypted: safety & 1 == 1,
                isAuthenticated: safety & 3 == 3,
                keySize: safety & 1 == 1 ? 16 : 0
            )
            try take(server.received(input.chunk(), security: security, database: &database))
        case 4:
            var pdu = input.octets(5)
            pdu += input.value()
            try take(server.received(pdu, security: .none, database: &database))
        case 5: try answer()
        case 6: try notify()
        case 7: try hand()
        case 8: try time()
        case 9: server.setMTU(Int(input.uint16()))
        case 10: server.isExchangingMTU = input.chance()
        default:
            server.setAuthorized(input.chance())
            if input.chance() { _ = database.store(input.chunk(), at: input.handle()) }
        }
    }

    private mutating func answer() throws {
        let index = input.number(below: 8)
        let result: Result<[UInt8], ATTError> =
            input.chance() ? .success(input.value()) : .failure(ATTError(rawValue: input.octet()))
        guard index < asked.count else { return }
        try take(server.respond(to: asked[index], with: result, database: &database))
    }

    private mutating func notify() throws {
        let (kind, handle, value) = (input.number(below: 4), input.handle(), input.value())
        do throws(ATTServer.SendRefusal) {
            switch kind {
            case 0: _ = try server.notify(handle, value, database: database)
            case 1: _ = try server.indicate(handle, value, database: database)
            case 2: try server.notify([(handle, value), (handle, [1])], database: database)
            default:
                for _ in 0..<100 { _ = try server.notify(handle, value, database: database) }
            }
        } catch {}
    }

    private mutating func hand() throws {
        largestMTU = max(largestMTU, server.mtu)
        guard !isOnItsWay else {
            isOnItsWay = false
            if input.chance() { return try take(server.sent()) }
            return server.notSent()
        }
        guard let pdu = server.nextPDU() else { return }
        try require(pdu.count <= largestMTU, "\(pdu.count) octets at an ATT_MTU of \(largestMTU)")
        try require(server.nextPDU() == pdu, "the next PDU changed")
        _ = server.sending()
        isOnItsWay = true
    }

    private mutating func time() throws {
        guard let id = timers.first, input.number(below: 4) == 0 else { return }
        timers = []
        try take(server.timerFired(id))
    }

    private mutating func take(_ output: ATTServer.Output) throws {
        asked += output.reads.map(\.token)
        for case .awaited(let token) in output.writes.map(\.answer) { asked.append(token) }
        asked = asked.suffix(8)
        switch output.timer {
        case .start(let id, _): timers = [id]
        case .stop: timers = []
        case nil: break
        }
        try require(output.writes.allSatisfy { $0.value.count <= 512 }, "a value of more than 512 octets")
        try require(output.close == nil || server.hasEnded, "closed, and goes on")
        for attribute in database.attributes {
            try require(database.value(at: attribute.handle).map { $0.count <= 512 } ?? true, "a stored value grew")
        }
    }

    mutating func end() throws {
        try take(server.ended())
        try require(server.nextPDU() == nil, "something is sent on a closed bearer")
    }

    private static let services = [
        LocalService(BluetoothUUID(0x180A)) {
            LocalCharacteristic(BluetoothUUID(0x2A29), .read, value: .text("Acme"))
            LocalCharacteristic(BluetoothUUID(0x2A24), [.read, .write], value: .stored([1, 2, 3]))
            LocalCharacteristic(BluetoothUUID(0x2A25), [.read, .write, .writeWithoutResponse], value: .dynamic)
        },
        LocalService(BluetoothUUID(0x180D)) {
            LocalCharacteristic(BluetoothUUID(0x2A37), [.notify, .indicate])
            LocalCharacteristic(BluetoothUUID(0x2A38), .read, value: .stored([1]), access: .encrypted)
            LocalCharacteristic(
                BluetoothUUID(0x2A39),
                [.read, .write, .notify],
                value: .dynamic,
                access: .authenticated
            )
        },
    ].addingMandatoryServices(name: "Fuzzed", appearance: 0, canChange: true)

    /// A PDU of each kind that goes to a server, and the steps about it.
    static var seeds: [[UInt8]] {
        let pdus: [[UInt8]] = [
            [2, 5, 2], [4, 1, 0, 0xFF, 0xFF], [6, 1, 0, 0xFF, 0xFF, 0, 0x28, 0x0A, 0x18],
            [8, 1, 0, 0xFF, 0xFF, 3, 0x28], [0x0A, 3, 0], [0x0A, 7, 0], [0x0C, 7, 0, 4, 0], [0x0C, 3, 0, 1, 0],
            [0x0E, 3, 0, 5, 0, 7, 0], [0x10, 1, 0, 0xFF, 0xFF, 0, 0x28], [0x12, 5, 0, 1, 2], [0x12, 7, 0, 1],
            [0x12, 0x0B, 0, 3, 0], [0x16, 5, 0, 0, 0, 9], [0x18, 1], [0x18, 0], [0x1E], [0x20, 3, 0, 5, 0],
            [0x52, 5, 0, 1], [0x52, 7, 0, 1], [0xD2, 5, 0, 1] + [UInt8](repeating: 0, count: 12), [1, 0x1D, 0, 0, 6],
        ]
        let steps = pdus.map { [0, 3, UInt8($0.count)] + $0 }
        // Sent, answered by the program, notified and indicated, and taken by the link.
        let tail: [UInt8] = [5, 0, 1, 4, 0, 9, 6, 0, 10, 3, 0, 1, 6, 1, 10, 3, 0, 1, 7, 7, 1, 7, 7, 1, 7, 7, 0, 8, 0]
        return steps.map { $0 + tail } + [steps.flatMap { $0 + [7, 7, 1] }]
    }
}
