/// What a server has to send, in three lanes: responses first, then notifications, then indications, of which only
/// one may be unconfirmed at any time (Core Specification, Vol 3, Part F, 3.3.2).
struct ServerOutbox: Sendable {
    /// A value to be sent; it is cut to the MTU only when its turn has come.
    struct Value: Sendable {
        var handle: UInt16
        var octets: [UInt8]
    }

    /// What makes one notification.
    private enum Notice: Sendable {
        case one(Value)
        /// One PDU where they fit it, else one for each.
        case together([Value])

        func without(_ handle: UInt16) -> Notice? {
            switch self {
            case .one(let value): return value.handle == handle ? nil : self
            case .together(let values):
                let rest = values.filter { $0.handle != handle }
                return rest.isEmpty ? nil : .together(rest)
            }
        }
    }

    /// Which values may be sent now.
    enum Values {
        case all
        case none
        /// This indication alone.
        case only(ATTServer.IndicationID?)
    }

    /// A PDU that was handed out, and what it is.
    private struct InFlight: Sendable {
        enum Lane: Sendable {
            case response(mtu: Int?)
            case notification
            case indication(ATTServer.IndicationID)
        }

        var pdu: [UInt8]
        var lane: Lane
    }

    /// What has been sent.
    enum Sent {
        case nothing
        case response(mtu: Int?)
        case notification
        case indication(ATTServer.IndicationID)
    }

    private var responses: [ATTServer.Response] = []
    private var notifications: [Notice] = []
    private var indications: [(id: ATTServer.IndicationID, value: Value)] = []
    private var inFlight: InFlight?
    /// The indication that was sent and is not confirmed.
    private(set) var unconfirmed: ATTServer.IndicationID?
    /// The queues that have refused a value since they had room last.
    private var refusing: ATTServer.Room = []

    /// Whether what was handed out is being given to the link: its answer may come at any time.
    private var isOnItsWay = false

    /// Whether nothing is to be sent, now or later.
    var isEmpty: Bool { responses.isEmpty && notifications.isEmpty && indications.isEmpty && inFlight == nil }

    /// How many responses have not been sent.
    var responseCount: Int {
        if case .response? = inFlight?.lane, !isOnItsWay { return responses.count + 1 }
        return responses.count
    }
}

// MARK: - In

extension ServerOutbox {
    mutating func add(_ response: ATTServer.Response) { responses.append(response) }

    mutating func notify(_ value: Value, limits: ATTServer.Limits) -> Bool {
        guard notifications.count < limits.notifications else {
            refusing.insert(.notifications)
            return false
        }
        notifications.append(.one(value))
        return true
    }

    mutating func notify(_ values: [Value], isTogether: Bool, limits: ATTServer.Limits) -> Bool {
        // A group counts as one, whatever is in it, so that one that is larger than the queue can be sent at all.
        guard notifications.count < limits.notifications else {
            refusing.insert(.notifications)
            return false
        }
        if isTogether { notifications.append(.together(values)) } else { notifications += values.map { .one($0) } }
        return true
    }

    mutating func indicate(_ value: Value, _ id: ATTServer.IndicationID, limits: ATTServer.Limits) -> Bool {
        guard indications.count < limits.indications else {
            refusing.insert(.indications)
            return false
        }
        indications.append((id, value))
        return true
    }

    /// Puts an indication of the server's own before all others.
    mutating func indicateFirst(_ value: Value, _ id: ATTServer.IndicationID) { indications.insert((id, value), at: 0) }

    /// Whether the client's confirmation fits; the next indication may then go.
    mutating func confirm() -> ATTServer.IndicationID? {
        defer { unconfirmed = nil }
        return unconfirmed
    }

    /// Forgets the notifications of a characteristic that wait.
    mutating func dropNotifications(of handle: UInt16) {
        notifications = notifications.compactMap { $0.without(handle) }
    }

    /// Forgets the indications of a characteristic that wait, and tells which they were.
    mutating func dropIndications(of handle: UInt16) -> [ATTServer.IndicationID] {
        let dropped = indications.filter { $0.value.handle == handle }.map(\.id)
        indications.removeAll { $0.value.handle == handle }
        return dropped
    }

    /// Forgets everything; returns the indications that will never be confirmed.
    mutating func clear() -> [ATTServer.IndicationID] {
        var lost = unconfirmed.map { [$0] } ?? []
        if case .indication(let id)? = inFlight?.lane, !isOnItsWay { lost.append(id) }
        lost += indications.map(\.id)
        self = ServerOutbox()
        return lost
    }

    /// Which queues have refused values and have room again: half of it, so that it pays to wake somebody.
    mutating func takeRoom(limits: ATTServer.Limits) -> ATTServer.Room {
        guard !refusing.isEmpty else { return [] }
        var room: ATTServer.Room = []
        if notifications.count <= limits.notifications / 2 { room.insert(.notifications) }
        if indications.count <= limits.indications / 2 { room.insert(.indications) }
        room.formIntersection(refusing)
        refusing.subtract(room)
        return room
    }

    /// The octets of a value that fit into one PDU; an attribute's value ends at 512, whatever the MTU.
    private func cut(_ octets: [UInt8], mtu: Int) -> ArraySlice<UInt8> {
        // A handle and an opcode go with a value.
        octets.prefix(min(mtu - 3, ATTLimits.maximumValueLength))
    }
}

// MARK: - Out

extension ServerOutbox {
    /// The PDU to be sent next; the same one until `sent()`.
    mutating func next(mtu: Int, _ values: Values) -> [UInt8]? {
        if inFlight == nil { inFlight = take(mtu: mtu, values) }
        return inFlight?.pdu
    }

    private mutating func take(mtu: Int, _ values: Values) -> InFlight? {
        if !responses.isEmpty {
            let response = responses.removeFirst()
            return InFlight(pdu: response.pdu, lane: .response(mtu: response.mtu))
        }
        switch values {
        case .none: return nil
        case .only(let id): return indications.first?.id == id ? takeIndication(mtu: mtu) : nil
        case .all: return takeNotification(mtu: mtu) ?? takeIndication(mtu: mtu)
        }
    }

    private mutating func takeNotification(mtu: Int) -> InFlight? {
        guard !notifications.isEmpty else { return nil }
        switch notifications.removeFirst() {
        case .one(let value):
            let pdu = ATTHandleValueNotification(handle: value.handle, value: cut(value.octets, mtu: mtu))
            return InFlight(pdu: pdu.encoded, lane: .notification)
        case .together(let values):
            let pdu = ATTMultipleHandleValueNotification(
                entries: values.map { .init(handle: $0.handle, value: $0.octets[...]) }
            )
            if values.count > 1, 1 + pdu.parameterCount <= mtu {
                return InFlight(pdu: pdu.encoded, lane: .notification)
            }
            notifications.insert(contentsOf: values.map { .one($0) }, at: 0)
            return takeNotification(mtu: mtu)
        }
    }

    private mutating func takeIndication(mtu: Int) -> InFlight? {
        guard !indications.isEmpty, unconfirmed == nil else { return nil }
        let (id, value) = indications.removeFirst()
        let pdu = ATTHandleValueIndication(handle: value.handle, value: cut(value.octets, mtu: mtu))
        return InFlight(pdu: pdu.encoded, lane: .indication(id))
    }

    /// The PDU that was handed out is being given to the link. The answer is what is sent with it.
    mutating func sending() -> Sent {
        guard let lane = inFlight?.lane, !isOnItsWay else { return .nothing }
        isOnItsWay = true
        switch lane {
        case .response(let mtu): return .response(mtu: mtu)
        case .notification: return .notification
        case .indication(let id):
            unconfirmed = id
            return .indication(id)
        }
    }

    /// The link took the PDU; an indication is told only while it is not confirmed.
    mutating func sent() -> Sent {
        if !isOnItsWay { _ = sending() }
        isOnItsWay = false
        switch inFlight.take()?.lane {
        case .response(let mtu): return .response(mtu: mtu)
        case .notification: return .notification
        case .indication(let id): return unconfirmed == id ? .indication(id) : .nothing
        case nil: return .nothing
        }
    }

    /// The link did not take the PDU: it is handed out again.
    mutating func notSent() {
        isOnItsWay = false
        if case .indication(let id)? = inFlight?.lane, unconfirmed == id { unconfirmed = nil }
    }
}
