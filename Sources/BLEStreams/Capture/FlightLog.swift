import BLEProtocol

/// The last minutes of a radio's traffic, in memory: a ring of limited size, and the discoveries of the peers, so that
/// the rest can be replayed.
///
/// A value without a clock: callers pass the times. Those of events are for the file, and jump when the system's clock
/// is set; events age by the times that ``pass(to:)`` takes, which never go back.
struct FlightLog {
    /// An event on a link, or of the radio.
    enum Event {
        case opened(peer: BluetoothAddress, ATTCapture.Role)
        case pdu([UInt8], isSent: Bool)
        case lost(Int)
        case closed(status: UInt8?)
        case advertised(by: BluetoothAddress, isConnectable: Bool, rssi: Int8?, [UInt8])
        case reportsLost(Int)
        /// A PDU that the radio didn't take after all.
        case nothing
    }

    struct Entry {
        var link: UInt16
        var time: ReceptionTime
        /// When it came, by the clock that it ages by.
        var moment: Duration
        var event: Event
    }

    /// A link that is up, or has events in the ring.
    struct Link {
        var peer: BluetoothAddress
        var role: ATTCapture.Role
        var redactor = ATTRedactor()
        /// Whether its beginning is still in the ring.
        var isWhole = true
        /// Whether something was discovered on it.
        var hasStructure = false
        /// Whether it has been used for nothing else since.
        var isDiscovering = false
    }

    /// A peer in view of this adapter's role: a peer may have links in both, with the services of one side each.
    struct Side: Hashable {
        var peer: BluetoothAddress
        var role: ATTCapture.Role
    }

    /// The PDUs of a discovery, and how many octets they take in a file.
    struct Discovery {
        private(set) var pdus: [(pdu: [UInt8], isSent: Bool)] = []
        private(set) var size = 0

        /// The octets of a PDU's record beside its own: 24 of btsnoop, 8 of HCI and L2CAP.
        private static let framing = 32

        /// Whether it begins with the request for all services, and not with that for a chosen one.
        var isOfAll: Bool { pdus.first?.pdu.first == ATTOpcode.readByGroupTypeRequest.rawValue }

        /// Adds a PDU; the first one that doesn't fit is the end of what is kept.
        mutating func append(_ pdu: [UInt8], isSent: Bool) {
            guard size <= FlightLog.structureLimit else { return }
            let whole = size + pdu.count + Self.framing
            if whole <= FlightLog.structureLimit { pdus.append((pdu, isSent)) }
            size = whole
        }
    }

    /// What is kept of a peer's discoveries.
    struct Structure {
        /// An earlier one, since the link of the last one may be lost amid it, and the last one may be of chosen
        /// services.
        private var former = Discovery()
        private var last = Discovery()
        /// Whether the link of the last one was used for something else since.
        private var isOver = false

        /// Whether the last one says all that the earlier one could: it was of all services, or has asked for the same
        /// one.
        private var isEnough: Bool { isOver && (last.isOfAll || last.pdus.first?.pdu == former.pdus.first?.pdu) }

        var pdus: [(pdu: [UInt8], isSent: Bool)] { isEnough ? last.pdus : former.pdus + last.pdus }
        var size: Int { isEnough ? last.size : former.size + last.size }

        mutating func append(_ pdu: [UInt8], isSent: Bool) {
            last.append(pdu, isSent: isSent)
            isOver = false
        }

        /// A discovery begins on another link.
        mutating func begin() {
            if isEnough || last.size >= former.size { former = last }
            (last, isOver) = (Discovery(), false)
        }

        /// The last one has come to its end, unless it goes on, as behind the read of an included service's long type.
        mutating func end() { isOver = true }
    }

    /// The limits of the kept discoveries: the number of peers, and the octets that each of a peer's two takes in a
    /// file.
    static let peerLimit = 64
    static let structureLimit = 64 << 10
    static let linkLimit = 2048
    /// The approximate size of an entry without its octets.
    private static let overhead = 96

    let duration: Duration
    let limit: Int
    let keepsValues: Bool

    private(set) var entries = Ring<Entry>()
    private(set) var size = 0
    private(set) var links: [UInt16: Link] = [:]
    private(set) var structures: [Side: Structure] = [:]
    private var structureOrder: [Side] = []
    private var lastNumber: UInt16 = 0
    /// How many ends of links are in the ring.
    private var ends = 0
    private var moment = Duration.zero

    init(duration: Duration, limit: Int, keepsValues: Bool) {
        self.duration = duration
        self.limit = limit
        self.keepsValues = keepsValues
    }

    // MARK: - Events

    /// Time has passed: what is too old by now goes. To be called before each event, but not before a file is made:
    /// after a quiet hour, the last events are still of use.
    mutating func pass(to moment: Duration) {
        self.moment = moment
        while let first = entries.first, moment - first.moment > duration { dropFirst() }
    }

    mutating func opened(_ peer: BluetoothAddress, _ role: ATTCapture.Role, at time: ReceptionTime) -> UInt16? {
        // Of short ones there are more than numbers: the oldest goes, and not the newest, which a failure is about.
        while links.count >= Self.linkLimit, ends > 0 { dropFirst() }
        guard links.count < Self.linkLimit else { return nil }
        repeat { lastNumber = lastNumber == 0x0EFF ? 1 : lastNumber + 1 } while links[lastNumber] != nil
        links[lastNumber] = Link(peer: peer, role: role)
        append(lastNumber, .opened(peer: peer, role), time)
        return lastNumber
    }

    mutating func carried(_ pdu: [UInt8], isSent: Bool, on link: UInt16, at time: ReceptionTime) {
        guard let (redacted, isStructure) = links[link]?.redactor.redact(pdu, isSent: isSent) else { return }
        if isStructure { keep(redacted, isSent: isSent, of: link) } else { used(by: pdu, isSent: isSent, link) }
        append(link, .pdu(keepsValues ? pdu : redacted, isSent: isSent), time)
    }

    /// The radio had no room for the PDU of a link that was recorded last as sent, and that will be sent again. Other
    /// threads may have recorded something since.
    mutating func notTaken(on link: UInt16) {
        let replaced = entries.replaceLast { entry in
            guard entry.link == link, case .pdu(_, isSent: true) = entry.event else { return false }
            return true
        } by: { entry in
            Entry(link: link, time: entry.time, moment: entry.moment, event: .nothing)
        }
        if let replaced { size += Self.size(of: .nothing) - Self.size(of: replaced.event) }
    }

    mutating func lost(_ count: Int, on link: UInt16, at time: ReceptionTime) { append(link, .lost(count), time) }

    mutating func closed(_ link: UInt16, status: UInt8?, at time: ReceptionTime) {
        ends += 1
        append(link, .closed(status: status), time)
    }

    mutating func advertised(
        by address: BluetoothAddress,
        isConnectable: Bool,
        rssi: Int8?,
        data: [UInt8],
        at time: ReceptionTime
    ) {
        let data = keepsValues ? data : redacted(advertising: data)
        append(0, .advertised(by: address, isConnectable: isConnectable, rssi: rssi, data), time)
    }

    mutating func reportsLost(_ count: Int, at time: ReceptionTime) { append(0, .reportsLost(count), time) }

    // MARK: - Storage

    private mutating func append(_ link: UInt16, _ event: Event, _ time: ReceptionTime) {
        entries.append(Entry(link: link, time: time, moment: moment, event: event))
        size += Self.size(of: event)
        while size > limit, !entries.isEmpty { dropFirst() }
    }

    private mutating func dropFirst() {
        guard let gone = entries.popFirst() else { return }
        size -= Self.size(of: gone.event)
        switch gone.event {
        case .opened: links[gone.link]?.isWhole = false
        case .closed:
            links[gone.link] = nil
            ends -= 1
        default: break
        }
    }

    private static func size(of event: Event) -> Int {
        switch event {
        case .pdu(let octets, _), .advertised(_, _, _, let octets): overhead + octets.count
        case .opened, .lost, .reportsLost, .closed, .nothing: overhead
        }
    }

    /// Keeps the PDUs of a discovery.
    private mutating func keep(_ pdu: [UInt8], isSent: Bool, of link: UInt16) {
        guard let (side, hasStructure) = links[link].map({ (Side(peer: $0.peer, role: $0.role), $0.hasStructure) })
        else { return }
        if !hasStructure {
            // The exchange of the MTU occurs on each link, and discovers nothing.
            let isMTU = pdu[0] == 0x02 || pdu[0] == 0x03
            guard !isMTU, pdu[0] != 0x01 else { return }
            links[link]?.hasStructure = true
            if structures[side] == nil {
                if structureOrder.count == Self.peerLimit { structures[structureOrder.removeFirst()] = nil }
                structureOrder.append(side)
            }
            structures[side, default: Structure()].begin()
        }
        links[link]?.isDiscovering = true
        structures[side]?.append(pdu, isSent: isSent)
    }

    /// A link has carried something else; a request of the side that discovers comes behind the discovery.
    private mutating func used(by pdu: [UInt8], isSent: Bool, _ link: UInt16) {
        // Nearly all that is recorded is no request: no link is looked for then.
        guard pdu.first.map(ATTOpcode.init)?.kind == .request, let known = links[link], known.isDiscovering,
            isSent == (known.role == .central)
        else { return }
        links[link]?.isDiscovering = false
        structures[Side(peer: known.peer, role: known.role)]?.end()
    }
}
