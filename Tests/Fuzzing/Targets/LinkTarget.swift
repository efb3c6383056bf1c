import BLEProtocol
import BLERadio

@testable import BLEStreams

extension FuzzTarget {
    /// A peer that answers anything, or says it unasked, to a whole link: operations, holds, subscriptions, raises.
    static let link = FuzzTarget("link", longest: 1024, seeds: LinkRun.seeds) { octets in
        var run = LinkRun(octets)
        while !run.input.isAtEnd { try run.step() }
        try run.end()
    }
}

/// One ``LinkMachine`` with a driver, a peer without manners, and what must hold all along.
private struct LinkRun {
    var input: FuzzInput
    private var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
    private var database = AttributeDatabase(services: Self.served)
    private var outgoing: LinkMachine.Outgoing?
    /// The request that the peer has not answered.
    private var request: [UInt8]?
    private var clientTimer: GATTClient.TimerID?
    private var serverTimer: ATTServer.IndicationID?
    /// Operations that have not ended.
    private var open: Set<LinkMachine.OperationID> = []
    private var holds: [LinkMachine.Pass] = []
    private var raises: [LinkMachine.RaiseID: LinkMachine.Raise] = [:]
    private var rises = 0
    private var waits: Set<Int> = []
    private var drains: [LinkMachine.Subscription.ID] = []
    private var consumers: [ObjectIdentifier: Consumer] = [:]
    private var order: [ObjectIdentifier] = []

    private struct Consumer {
        let consumer: ValueConsumer
        var id: LinkMachine.Subscription.ID?
        var isOver = false
    }

    init(_ octets: [UInt8]) {
        input = FuzzInput(octets)
        // Nothing is kept of an earlier link, so nothing comes of it.
        var output = LinkMachine.Output()
        machine.begin(now: .zero, &output)
        if octets.count % 3 == 0 { machine.demands[.uuid(Self.secret, service: nil)] = .encrypted }
    }

    private mutating func change(_ body: (inout LinkMachine, inout LinkMachine.Output) -> Void) throws {
        var output = LinkMachine.Output()
        body(&machine, &output)
        try carryOut(output)
        guard outgoing == nil, let next = machine.nextOutgoing() else { return }
        try require(next.pdu.count <= max(machine.client.mtu, 23), "a PDU of \(next.pdu.count) octets")
        outgoing = next
    }

    mutating func step() throws {
        switch input.number(below: 20) {
        case 0, 1: try begin(input.number(below: 12))
        case 2: try subscribe()
        case 3: try unsubscribe()
        case 4, 5: try handOver()
        case 6...8:
            // As the answer to what was asked last.
            guard let opcode = request?.first else { return try receive(input.chunk()) }
            try receive([opcode &+ 1] + input.chunk())
        case 9: try receive(input.chunk())
        case 10:
            guard let request, request.count > 2 else { return }
            try receive([0x01, request[0], request[1], request[2], input.octet()])
        case 11: try raised()
        case 12:
            guard let number = waits.min() else { return }
            waits.remove(number)
            try change { $0.waited(number, &$1) }
        case 13:
            guard let id = open.min() else { return }
            open.remove(id)
            try change { $0.cancel(id, &$1) }
        case 14:
            guard let pass = holds.popLast() else { return }
            try change { $0.leave(pass, &$1) }
        case 15: try drain()
        case 16:
            if input.chance() { machine.unblocked() } else { try change { $0.forget(&$1) } }
        case 17:
            let count = Int(input.octet())
            try change { $0.dropped(count, &$1) }
        case 18: try ring()
        default: try indicateServiceChanged()
        }
    }

    // MARK: - The program

    private mutating func begin(_ kind: Int) throws {
        let name: CharacteristicSelector = .uuid(Self.names[input.number(below: 3)], service: nil)
        let handle = input.handle()
        let target: LinkMachine.Target =
            switch kind {
            case 0: .find(name)
            case 1: .characteristic(name, anyOf: .read) { ReadValue(handle: $0.valueHandle) }
            case 2: .characteristic(name, anyOf: .write) { WriteValue(handle: $0.valueHandle, value: [1]) }
            case 3: .characteristic(name, anyOf: []) { WriteCommand(handle: $0.valueHandle, value: [1, 2]) }
            case 4: .characteristic(.handle(handle), anyOf: .read) { ReadValue(handle: $0.valueHandle) }
            case 5: .handles(ReadValue(handle: handle))
            case 6: .handles(ReadByUUID(Self.secret))
            case 7: .handles(LongWrite(handle: handle, value: [UInt8](repeating: 7, count: 60), isVerified: true))
            case 8: .hold
            case 9: .aside(ExchangeMTU())
            default: .database
            }
        let pass = input.chance() ? holds.last : nil
        // It may end within the step.
        open.insert(machine.lastOperation + 1)
        try change { _ = $0.begin(target, pass: pass, &$1) }
    }

    private mutating func subscribe() throws {
        guard order.count < 32 else { return }
        let consumer = ValueConsumer(object: "of a fuzzed one", deliver: { _ in }, finish: { _ in })
        let name = ObjectIdentifier(consumer)
        let (uuid, indications) = (Self.names[input.number(below: 3)], input.chance())
        consumers[name] = Consumer(consumer: consumer)
        order.append(name)
        var id: LinkMachine.Subscription.ID?
        try change {
            id = $0.subscribe(.uuid(uuid, service: nil), indications: indications, pass: nil, consumer, &$1)
        }
        consumers[name]?.id = id
    }

    private mutating func unsubscribe() throws {
        guard !order.isEmpty else { return }
        let name = order[input.number(below: order.count)]
        guard let consumer = consumers[name], let id = consumer.id, !consumer.isOver else { return }
        consumers[name]?.isOver = true
        try change { $0.unsubscribe(id, &$1) }
    }

    private mutating func drain() throws {
        guard let id = drains.first else { return }
        let consumer = machine.subscriptions[id]?.consumer
        guard let held = machine.takeHeld(id) else {
            drains.removeFirst()
            return
        }
        if let consumer, !held.values.isEmpty { try deliver([consumer]) }
    }

    // MARK: - The radio and the peer

    private mutating func handOver() throws {
        guard let outgoing else { return try change { _, _ in } }
        self.outgoing = nil
        let isSent = input.number(below: 4) > 0
        if isSent, !outgoing.isOfServer, ATTOpcode(rawValue: outgoing.pdu[0]).kind == .request {
            request = outgoing.pdu
        }
        try change { $0.handedOver(outgoing, isSent ? .sent : .full, &$1) }
    }

    private mutating func receive(_ pdu: [UInt8]) throws {
        let time = ReceptionTime(sinceEpoch: .zero, source: .kernel)
        var isForClient = true
        try change { isForClient = $0.received(pdu, at: time, &$1) }
        guard !isForClient else { return }
        var database = database
        try change { $0.served(pdu, security: .none, database: &database, &$1) }
        self.database = database
    }

    private mutating func indicateServiceChanged() throws {
        guard let handle = machine.serviceChanged?.handle else { return }
        let head: [UInt8] = [0x1D, UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8)]
        try receive(head + input.octets(4))
    }

    private mutating func ring() throws {
        guard input.number(below: 4) == 0 else { return }
        if let clientTimer {
            (self.clientTimer, request) = (nil, nil)
            try change { $0.take($0.client.timerFired(clientTimer), &$1) }
        } else if let serverTimer {
            self.serverTimer = nil
            try change { $0.take($0.server.timerFired(serverTimer), &$1) }
        }
    }

    private mutating func raised() throws {
        guard let id = raises.keys.min(), let raise = raises.removeValue(forKey: id) else { return }
        let error = BLEError(.timedOut, operation: "secure link", object: "", cause: "nobody answered")
        var outcome = [LinkMachine.Raised.done, .failed(error), .declined][input.number(below: 3)]
        // What the program demands nobody declines.
        if case (.toLevel, .declined) = (raise, outcome) { outcome = .done }
        if case .done = outcome {
            rises += 1
            let rises = rises
            try change {
                $0.hold(false, rises: rises)
                $0.subscribeToRefusedServiceChanged(&$1)
            }
        }
        try change { $0.raised(id, outcome, &$1) }
    }

    // MARK: - What comes of it

    private mutating func carryOut(_ output: LinkMachine.Output) throws {
        for delivery in output.deliveries { try deliver(delivery.consumers) }
        for finished in output.finished {
            try require(open.remove(finished.id) != nil, "operation \(finished.id) ended twice")
            if case .success(let success) = finished.result, let pass = success.value(as: LinkMachine.Pass.self) {
                holds.append(pass)
            }
        }
        switch output.clientTimer {
        case .start(let id, _): clientTimer = id
        case .stop: (clientTimer, request) = (nil, nil)
        case nil: break
        }
        switch output.serverTimer {
        case .start(let id, _): serverTimer = id
        case .stop: serverTimer = nil
        case nil: break
        }
        if let rest = output.rest { try carryOut(rest) }
    }

    private mutating func carryOut(_ rest: LinkMachine.Rest) throws {
        for notice in rest.notices {
            switch notice {
            case .held(_, let id): drains.append(id)
            case .ended(let consumer, _):
                let name = ObjectIdentifier(consumer)
                try require(consumers[name]?.isOver == false, "a consumer ended twice, or after it had left")
                consumers[name]?.isOver = true
            case .values(let consumer, _): try deliver([consumer])
            case .begun, .lost, .mayLack, .armed, .registered, .moved, .withheld: break
            }
        }
        for wait in rest.waits {
            switch wait {
            case .start(let number, _): waits.insert(number)
            case .cancel(let number): waits.remove(number)
            }
        }
        for raise in rest.raises {
            switch raise {
            case .toLevel(_, let id, _), .afterRefusal(_, let id, _): raises[id] = raise
            case .leave(let id): raises[id] = nil
            }
        }
    }

    private func deliver(_ receivers: [ValueConsumer]) throws {
        for receiver in receivers {
            try require(consumers[ObjectIdentifier(receiver)]?.isOver == false, "a value behind the end")
        }
    }

    mutating func end() throws {
        try change { _ = $0.ended(DisconnectReason(.supervisionTimeout), &$1) }
        let failure = BLEError(.disconnected, operation: "secure link", object: "", cause: "the link is over")
        while let id = raises.keys.min() {
            raises[id] = nil
            try change { $0.raised(id, .failed(failure), &$1) }
        }
        while !drains.isEmpty { try drain() }
        try require(open.isEmpty, "operations that never end: \(open.sorted())")
        try require(consumers.values.allSatisfy(\.isOver), "a consumer that never hears of the end")
        try require(machine.operations.isEmpty && machine.purposes.isEmpty, "something is left of an operation")
        try require(machine.subscriptions.isEmpty && machine.routes.isEmpty, "something is left of a subscription")
    }

    // MARK: - The world

    private static let measured = BluetoothUUID(0x2A37)
    private static let secret = BluetoothUUID(0x2A8A)
    private static let names = [measured, secret, BluetoothUUID(0x2A99)]
    private static let served = [
        LocalService(BluetoothUUID(0x180A)) {
            LocalCharacteristic(BluetoothUUID(0x2A29), [.read, .write, .notify], value: .stored([1, 2, 3]))
        }
    ].addingMandatoryServices(name: "Fuzzed", appearance: 0, canChange: true)
}

// MARK: - Seeds

extension LinkRun {
    /// What an honest peer says to a link that looks for its services, with what the program begins before that.
    static var seeds: [[UInt8]] {
        let begins: [[UInt8]] =
            (0..<12).map { [0, UInt8($0), 0, 5, 0] } + [[2, 0, 0], [2, 1, 1], [0, 8, 0, 5, 0, 2, 0, 1]]
        return begins.map { begin in
            begin + answers.flatMap { answer in [4, 1, 6, UInt8(answer.count)] + answer } + tail
        }
    }

    /// What is asked of a new peer, in this order: its MTU, hash, services, characteristics, descriptors; then a value.
    private static let answers: [[UInt8]] = {
        let secret: [UInt8] = [7, 0x0B, 0, 0x1A, 0x0C, 0, 0x8A, 0x2A, 0x0D, 0, 0x3A, 0x0E, 0, 0x37, 0x2A]
        return [
            [0x00, 1], [6, 1, 0, 4, 0, 1, 0x18, 10, 0, 0x10, 0, 0x0D, 0x18], [7, 2, 0, 0x20, 3, 0, 5, 0x2A], secret,
            [1, 4, 0, 2, 0x29], [1, 0x0F, 0, 2, 0x29], [], [1, 2], [], [],
        ]
    }()

    /// Values, a change, a raise, what waits, and the end of some of it.
    private static let tail: [UInt8] =
        [9, 5, 0x1B, 0x0E, 0, 1, 2, 9, 5, 0x1D, 0x0E, 0, 3, 4, 19, 1, 0, 0xFF, 0xFF, 4, 1, 10, 5, 11, 0, 15, 12, 17, 2]
        + [13, 14, 3, 0, 4, 1, 4, 1]
}
