import BLEProtocol
import BLERadio

@testable import BLEStreams

/// A ``LinkMachine``, a server at its other end, and a driver that does as little as it likes at a time: no link, no
/// task, no time. What happens next is drawn from a seed.
struct MachineWorld {
    /// What became of an operation.
    struct Fate {
        var results: [Result<GATTSuccess, LinkFailure>] = []
        var isCancelled = false
    }

    /// What a consumer was told.
    struct Story {
        var values: [UInt32] = []
        var lost = 0
        /// Whether values may be missing.
        var mayLack = false
        var ends: [LinkFailure?] = []
        var isTakenBack = false
        /// Whether it was given something behind its end.
        var isHaunted = false
    }

    var machine: LinkMachine
    var peer = ATTServer(maximumMTU: 517)
    var database: AttributeDatabase
    /// PDUs of the peer that are on their way.
    var arriving: [[UInt8]] = []
    var outgoing: LinkMachine.Outgoing?
    var isFull = false
    var isEncrypted = false
    var isRaising: [LinkMachine.RaiseID: LinkMachine.Raise] = [:]
    var rises = 0
    var waits: Set<Int> = []
    var drains: [LinkMachine.Subscription.ID] = []
    var fates: [LinkMachine.OperationID: Fate] = [:]
    var stories: [ObjectIdentifier: Story] = [:]
    var consumers: [(id: LinkMachine.Subscription.ID, consumer: ValueConsumer)] = []
    var holds: [LinkMachine.Pass] = []
    var lastValue: UInt32 = 0
    var chance: Chance

    static let heartRate = BluetoothUUID(0x2A37)
    static let secret = BluetoothUUID(0x2A8A)
    static let absent = BluetoothUUID(0x2A99)

    init(seed: UInt64, remembered: RememberedDatabase? = nil, isResumed: Bool = false) {
        chance = Chance(seed: seed)
        machine = Self.machine(remembered: remembered, isResumed: isResumed)
        database = AttributeDatabase(services: Self.services(count: 1))
    }

    private static func machine(remembered: RememberedDatabase?, isResumed: Bool) -> LinkMachine {
        var machine = LinkMachine(
            maximumMTU: 517,
            servedClient: ServerClient(),
            remembered: remembered,
            isResumed: isResumed
        )
        var output = LinkMachine.Output()
        machine.begin(now: .zero, &output)
        return machine
    }

    /// The program is killed, and another one takes the link over.
    mutating func takeOver() {
        machine = Self.machine(remembered: nil, isResumed: true)
        consumers = []
        stories = [:]
        outgoing = nil
    }

    /// What the peer offers, laid out otherwise for each count.
    static func services(count: Int) -> [LocalService] {
        let own = (0..<count).map { number in
            LocalService(BluetoothUUID(UInt16(0x1820 + number)), id: "filler \(number)") {
                LocalCharacteristic(BluetoothUUID(0x2A00), .read, value: .stored([1]), id: "name \(number)")
            }
        }
        let measured = LocalService(BluetoothUUID(0x180D)) {
            LocalCharacteristic(heartRate, [.read, .write, .notify, .indicate], value: .stored([1, 2]))
            LocalCharacteristic(secret, [.read, .write, .notify], value: .stored([3]), access: .encrypted)
        }
        return (own + [measured]).addingMandatoryServices(name: "World", appearance: 0, canChange: true)
    }

    /// One step, as a driver does it.
    mutating func step(_ body: (inout LinkMachine, inout LinkMachine.Output) -> Void) {
        var output = LinkMachine.Output()
        body(&machine, &output)
        carryOut(output)
        if outgoing == nil { outgoing = machine.nextOutgoing() }
    }

    private mutating func carryOut(_ output: LinkMachine.Output) {
        for delivery in output.deliveries {
            for consumer in delivery.consumers { deliver(delivery.values, to: consumer) }
        }
        for finished in output.finished {
            fates[finished.id, default: Fate()].results.append(finished.result)
            if case .success(let success) = finished.result, let pass = success.value(as: LinkMachine.Pass.self) {
                holds.append(pass)
            }
        }
        guard let rest = output.rest else { return }
        for notice in rest.notices {
            switch notice {
            case .held(_, let id): drains.append(id)
            case .lost(let consumer, let count): stories[ObjectIdentifier(consumer)]?.lost += count
            case .values(let consumer, let values): deliver(values, to: consumer)
            case .ended(let consumer, let failure): stories[ObjectIdentifier(consumer)]?.ends.append(failure)
            case .mayLack(let consumer): stories[ObjectIdentifier(consumer)]?.mayLack = true
            case .begun, .armed, .registered, .moved, .withheld: break
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
            case .toLevel(_, let id, _), .afterRefusal(_, let id, _): isRaising[id] = raise
            case .leave(let id): isRaising[id] = nil
            }
        }
    }

    private mutating func deliver(_ values: [CharacteristicValue], to consumer: ValueConsumer) {
        let numbers = values.map { UInt32(octets: $0.bytes) }
        stories[ObjectIdentifier(consumer)]?.values += numbers
        if stories[ObjectIdentifier(consumer)]?.ends.isEmpty == false {
            stories[ObjectIdentifier(consumer)]?.isHaunted = true
        }
    }
}

// MARK: - What can happen

extension MachineWorld {
    mutating func begin(_ target: LinkMachine.Target, pass: LinkMachine.Pass? = nil) {
        step { machine, output in _ = machine.begin(target, pass: pass, &output) }
        // It may have ended at once.
        if fates[machine.lastOperation] == nil { fates[machine.lastOperation] = Fate() }
    }

    mutating func cancel(_ id: LinkMachine.OperationID) {
        guard fates[id]?.results.isEmpty == true else { return }
        fates[id]?.isCancelled = true
        step { machine, output in machine.cancel(id, &output) }
    }

    mutating func subscribe(to uuid: BluetoothUUID) {
        let consumer = ValueConsumer(object: "of \(uuid)", deliver: { _ in }, finish: { _ in })
        stories[ObjectIdentifier(consumer)] = Story()
        var id: LinkMachine.Subscription.ID?
        step { machine, output in
            id = machine.subscribe(
                .uuid(uuid, service: nil),
                indications: false,
                pass: nil,
                consumer,
                &output
            )
        }
        consumers.append((id ?? -1, consumer))
    }

    mutating func unsubscribe(_ index: Int) {
        let (id, consumer) = consumers[index]
        guard stories[ObjectIdentifier(consumer)]?.ends.isEmpty == true else { return }
        stories[ObjectIdentifier(consumer)]?.isTakenBack = true
        step { machine, output in machine.unsubscribe(id, &output) }
    }

    mutating func leaveHold() {
        guard let pass = holds.popLast() else { return }
        step { machine, output in machine.leave(pass, &output) }
    }

    /// The radio takes a PDU, or has no room.
    mutating func transmit(hasRoom: Bool = true) {
        guard let outgoing else { return }
        self.outgoing = nil
        if hasRoom {
            let security = ATTSecurity(
                isEncrypted: isEncrypted,
                isAuthenticated: isEncrypted,
                keySize: isEncrypted ? 16 : 0,
                hasKey: isEncrypted
            )
            _ = peer.received(outgoing.pdu, security: security, database: &database)
            collect()
        } else {
            isFull = true
        }
        step { machine, output in machine.handedOver(outgoing, hasRoom ? .sent : .full, &output) }
    }

    mutating func makeRoom() {
        guard isFull else { return }
        isFull = false
        step { machine, _ in machine.unblocked() }
    }

    private mutating func collect() {
        while let pdu = peer.nextPDU() {
            _ = peer.sent()
            arriving.append(pdu)
        }
    }

    /// The next PDU of the peer arrives.
    mutating func arrive() {
        guard !arriving.isEmpty else { return }
        let pdu = arriving.removeFirst()
        step { machine, output in
            _ = machine.received(pdu, at: ReceptionTime(sinceEpoch: .zero, source: .simulation), &output)
        }
    }

    /// The peer sends a value by itself, wherever its handle is now.
    mutating func notify(_ uuid: BluetoothUUID) {
        lastValue += 1
        let handles = database.attributes(from: 1, through: 0xFFFF).filter { $0.type == uuid }.map(\.handle)
        guard let handle = handles.first else { return }
        let head = [0x1B, UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8)]
        arriving.append(head + lastValue.octets)
    }

    /// The peer's services are laid out anew.
    mutating func change() {
        database = AttributeDatabase(services: Self.services(count: 1 + Int(chance.next() % 3)))
        _ = peer.synchronize(with: database)
        collect()
        let handles = database.attributes(from: 1, through: 0xFFFF)
            .filter { $0.type == BluetoothUUID.Characteristics.serviceChanged }.map(\.handle)
        guard let handle = handles.first else { return }
        arriving.append([
            0x1D, UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8), 1, 0, 0xFF, 0xFF,
        ])
    }

    mutating func raise(_ outcome: LinkMachine.Raised) {
        guard let id = isRaising.keys.min(), let raise = isRaising.removeValue(forKey: id) else { return }
        // What the program demands nobody declines.
        if case (.toLevel, .declined) = (raise, outcome) { return self.raised(id, .done) }
        raised(id, outcome)
    }

    private mutating func raised(_ id: LinkMachine.RaiseID, _ outcome: LinkMachine.Raised) {
        if case .done = outcome {
            isEncrypted = true
            rises += 1
            let rises = rises
            step { machine, output in
                machine.hold(false, rises: rises)
                machine.subscribeToRefusedServiceChanged(&output)
            }
        }
        step { machine, output in machine.raised(id, outcome, &output) }
    }

    mutating func endWait() {
        guard let number = waits.min() else { return }
        waits.remove(number)
        step { machine, output in machine.waited(number, &output) }
    }

    /// Part of what waits for a consumer is handed over.
    mutating func drain() {
        guard let id = drains.first else { return }
        let consumer = machine.subscriptions[id]?.consumer
        guard let held = machine.takeHeld(id) else {
            drains.removeFirst()
            return
        }
        guard let consumer else { return }
        if !held.values.isEmpty { deliver(held.values, to: consumer) }
        stories[ObjectIdentifier(consumer)]?.lost += held.lost
        if held.mayLackMore { stories[ObjectIdentifier(consumer)]?.mayLack = true }
    }

    /// Lets everything that is under way come to its end.
    mutating func settle() {
        for _ in 0..<20_000 {
            if outgoing != nil {
                transmit()
            } else if isFull {
                makeRoom()
            } else if !arriving.isEmpty {
                arrive()
            } else if !isRaising.isEmpty {
                raise(.done)
            } else if !drains.isEmpty {
                drain()
            } else if !holds.isEmpty {
                leaveHold()
            } else if !waits.isEmpty {
                endWait()
            } else {
                return
            }
        }
    }
}
