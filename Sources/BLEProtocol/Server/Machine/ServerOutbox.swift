/// The PDUs that a server has to send, in three lanes: responses first, then notifications, then indications, of which
/// only one may be unconfirmed at any time (Core Specification, Vol 3, Part F, 3.3.2). A response that waited for all
/// values in front of it could come later than 30 s behind its request, when the client has given up the link. An
/// indication waits for all notifications that were queued before it, and for no more than some of those that come
/// later.
struct ServerOutbox: Sendable {
    /// A value to send; it is cut to the MTU only when it is sent.
    struct Value: Sendable {
        var handle: UInt16
        var octets: [UInt8]
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
            /// This many values.
            case notification(Int)
            case indication(ATTServer.IndicationID)
        }

        var pdu: [UInt8]
        var lane: Lane

        /// Whether it is a notification of a characteristic, perhaps among others.
        func notifies(_ handle: UInt16) -> Bool {
            guard case .notification(let count) = lane else { return false }
            var place = 1
            for _ in 0..<count where place + 2 <= pdu.count {
                if UInt16(pdu[place]) | UInt16(pdu[place + 1]) << 8 == handle { return true }
                // Each of several values has its length behind its handle.
                guard count > 1, place + 4 <= pdu.count else { return false }
                place += 4 + (Int(pdu[place + 2]) | Int(pdu[place + 3]) << 8)
            }
            return false
        }
    }

    /// What has been sent.
    enum Sent {
        case nothing
        case response(mtu: Int?)
        case notification
        case indication(ATTServer.IndicationID)
    }

    private var responses: [ATTServer.Response] = []
    private(set) var notifications = NotificationQueue()
    /// The waiting indications; each with how many notifications had ever been queued before it.
    private var indications: [(id: ATTServer.IndicationID, value: Value, earlier: Int)] = []
    private var inFlight: InFlight?
    /// The indication that was sent and is not confirmed.
    private(set) var unconfirmed: ATTServer.IndicationID?
    /// The queues that have refused a value since they last had room.
    private var refusing: ATTServer.Room = []
    /// Whether a notification was refused that shares its bound with all others.
    private var isSharedFull = false
    /// The windows in which a value was refused, by their characteristics' value handles.
    private var fullWindows: [UInt16: Int] = [:]
    /// Whether a value of one of these has left the queue since they were looked at.
    private var hasMoved = false
    /// The characteristics of which somebody waits until no notification waits, by their value handles.
    private var awaited: Set<UInt16> = []

    /// Whether the PDU handed out is being passed to the link: its answer may come at any time.
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

    mutating func notify(
        _ value: Value,
        _ bound: ATTServer.Bound,
        limits: ATTServer.Limits
    ) -> ATTServer.Queued? { add(.one(value), bound, limits) }

    mutating func notify(_ values: [Value], isTogether: Bool, limits: ATTServer.Limits) -> Bool {
        guard isTogether else {
            // All of them or none: only the first one is checked for room.
            guard let one = values.first, add(.one(one), .shared, limits) != nil else { return values.isEmpty }
            for value in values.dropFirst() { _ = notifications.add(.one(value), .shared, limit: nil) }
            return true
        }
        return add(.together(values), .shared, limits) != nil
    }

    private mutating func add(
        _ notice: NotificationQueue.Notice,
        _ bound: ATTServer.Bound,
        _ limits: ATTServer.Limits
    ) -> ATTServer.Queued? {
        let queued = notifications.add(notice, bound, limit: limits.notifications)
        if queued == nil { noteRefusal(of: notice, bound) }
        if notifications.counts.isBehind { refusing.insert(.backlog) }
        return queued
    }

    private mutating func noteRefusal(of notice: NotificationQueue.Notice, _ bound: ATTServer.Bound) {
        refusing.insert(.notifications)
        if case .window(let most) = bound, case .one(let value) = notice {
            fullWindows[value.handle] = most
        } else {
            isSharedFull = true
        }
    }

    /// Whether one of the bounds that have refused a notification has room again, whatever waits within others.
    private mutating func takeNotificationRoom(limit: Int) -> Bool {
        var hasRoom = false
        if hasMoved {
            let before = fullWindows.count
            fullWindows = fullWindows.filter { notifications.waiting(of: $0.key) > $0.value / 2 }
            hasRoom = fullWindows.count < before
            hasMoved = false
        }
        if isSharedFull, notifications.sharedCount <= limit / 2 { (isSharedFull, hasRoom) = (false, true) }
        return hasRoom
    }

    /// Counts values for the client that are not queued.
    mutating func countDropped(_ count: Int) {
        notifications.countDropped(count)
        refusing.insert(.backlog)
    }

    mutating func indicate(_ value: Value, _ id: ATTServer.IndicationID, limits: ATTServer.Limits) -> Bool {
        guard indications.count < limits.indications else {
            refusing.insert(.indications)
            return false
        }
        indications.append((id, value, notifications.added))
        return true
    }

    /// Whether no notification of a characteristic waits; if one does, the server reports when none waits any more,
    /// whatever else waits.
    mutating func watchForEmptiness(of handle: UInt16) -> Bool {
        if hasTaken(handle) { return true }
        refusing.insert(.empty)
        awaited.insert(handle)
        return false
    }

    /// Ends all waits for emptiness. Returns whether there were any.
    mutating func giveUpAwaiting() -> Bool {
        defer {
            awaited = []
            refusing.remove(.empty)
        }
        return !awaited.isEmpty
    }

    /// Whether the link has taken all notifications of a characteristic.
    private func hasTaken(_ handle: UInt16) -> Bool {
        !(inFlight?.notifies(handle) ?? false) && !notifications.contains(handle)
    }

    /// Whether the link has taken all notifications of a characteristic for which somebody waits.
    private mutating func takeEmptied() -> Bool {
        let before = awaited.count
        awaited = awaited.filter { !hasTaken($0) }
        return awaited.count < before
    }

    /// Puts an indication of the server's own before all others.
    mutating func indicateFirst(_ value: Value, _ id: ATTServer.IndicationID) {
        indications.insert((id, value, notifications.added), at: 0)
    }

    /// Takes the client's confirmation, if one is due; then the next indication may be sent.
    mutating func confirm() -> ATTServer.IndicationID? {
        defer { unconfirmed = nil }
        return unconfirmed
    }

    /// Drops the waiting notifications of a characteristic.
    mutating func dropNotifications(of handle: UInt16) {
        notifications.drop(handle)
        hasMoved = true
    }

    /// What waits may be cut, though it was not when it was queued.
    mutating func mtuBecameSmaller() { notifications.mtuBecameSmaller() }

    /// Drops the waiting indications of a characteristic, and returns them.
    mutating func dropIndications(of handle: UInt16) -> [ATTServer.IndicationID] {
        let dropped = indications.filter { $0.value.handle == handle }.map(\.id)
        indications.removeAll { $0.value.handle == handle }
        return dropped
    }

    /// Drops all waiting indications, and returns them.
    mutating func dropIndications() -> [ATTServer.IndicationID] {
        defer { indications = [] }
        return indications.map(\.id)
    }

    /// Drops everything; returns the indications that will never be confirmed.
    mutating func clear() -> [ATTServer.IndicationID] {
        var lost = unconfirmed.map { [$0] } ?? []
        if case .indication(let id)? = inFlight?.lane, !isOnItsWay { lost.append(id) }
        lost += indications.map(\.id)
        var notifications = notifications
        var handedOut = 0
        if case .notification(let count)? = inFlight?.lane { handedOut = count }
        notifications.end(handedOut: handedOut)
        self = ServerOutbox()
        self.notifications = notifications
        return lost
    }

    /// The queues that have refused values and have room again: half of it, so that waking the sender is worthwhile.
    mutating func takeRoom(limits: ATTServer.Limits) -> ATTServer.Room {
        guard !refusing.isEmpty else { return [] }
        var room: ATTServer.Room = []
        if refusing.contains(.notifications), takeNotificationRoom(limit: limits.notifications) {
            room.insert(.notifications)
        }
        if !awaited.isEmpty, takeEmptied() { room.insert(.empty) }
        if notifications.catchesUp() { room.insert(.backlog) }
        if indications.count <= limits.indications / 2 { room.insert(.indications) }
        room.formIntersection(refusing)
        refusing.subtract(room)
        if !awaited.isEmpty { refusing.insert(.empty) }
        if isSharedFull || !fullWindows.isEmpty { refusing.insert(.notifications) }
        return room
    }

    /// The octets of a value that fit into one PDU; an attribute's value has at most 512, whatever the MTU.
    private func cut(_ octets: [UInt8], mtu: Int) -> ArraySlice<UInt8> {
        // An opcode and a handle precede the value.
        octets.prefix(min(mtu - 3, ATTLimits.maximumValueLength))
    }
}

// MARK: - Out

extension ServerOutbox {
    /// The PDU to send next; the same one until `sent()`.
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
        case .all:
            if isIndicationDue, let indication = takeIndication(mtu: mtu) { return indication }
            return takeNotification(mtu: mtu) ?? takeIndication(mtu: mtu)
        }
    }

    /// How many of the notifications that were queued behind an indication may be sent before it.
    private static let mostOvertaking = 64

    /// Whether the next indication comes before the next notification: notifications that are queued all the time would
    /// keep it waiting for ever.
    private var isIndicationDue: Bool {
        indications.first.map { notifications.next >= $0.earlier + Self.mostOvertaking } ?? false
    }

    private mutating func takeNotification(mtu: Int) -> InFlight? {
        switch notifications.take() {
        case nil: return nil
        case .one(let value)?:
            if !fullWindows.isEmpty, fullWindows[value.handle] != nil { hasMoved = true }
            let pdu = ATTHandleValueNotification(handle: value.handle, value: cut(value.octets, mtu: mtu))
            return InFlight(pdu: pdu.encoded, lane: .notification(1))
        case .together(let values)?:
            let pdu = ATTMultipleHandleValueNotification(
                entries: values.map { .init(handle: $0.handle, value: $0.octets[...]) }
            )
            if values.count > 1, 1 + pdu.parameterCount <= mtu {
                if !fullWindows.isEmpty { hasMoved = true }
                return InFlight(pdu: pdu.encoded, lane: .notification(values.count))
            }
            notifications.putBack(values)
            return takeNotification(mtu: mtu)
        }
    }

    private mutating func takeIndication(mtu: Int) -> InFlight? {
        guard !indications.isEmpty, unconfirmed == nil else { return nil }
        let (id, value, _) = indications.removeFirst()
        let pdu = ATTHandleValueIndication(handle: value.handle, value: cut(value.octets, mtu: mtu))
        return InFlight(pdu: pdu.encoded, lane: .indication(id))
    }

    /// The PDU that was handed out is being passed to the link. Returns what is sent with it.
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

    /// The link took the PDU; an indication is returned only while it is not confirmed.
    mutating func sent() -> Sent {
        if !isOnItsWay { _ = sending() }
        isOnItsWay = false
        switch inFlight.take()?.lane {
        case .response(let mtu): return .response(mtu: mtu)
        case .notification(let count):
            notifications.sent(count)
            return .notification
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
