import BLEProtocol

/// The last minutes of a radio's traffic, in memory: a ring of limited size, and the discoveries of the peers, so that
/// the rest can be replayed.
///
/// A value without a clock: callers pass the time.
struct FlightLog {
    /// An event on a link, or of the radio.
    enum Event {
        case opened(peer: BluetoothAddress, ATTCapture.Role)
        case pdu([UInt8], isSent: Bool)
        case lost(Int)
        case closed(status: UInt8?)
        case advertised(by: BluetoothAddress, isConnectable: Bool, rssi: Int8?, [UInt8])
        case note(String)
        /// A PDU that the radio didn't take after all.
        case nothing
    }

    struct Entry {
        var link: UInt16
        var time: ReceptionTime
        var event: Event
    }

    /// A link that is up, or has events in the ring.
    struct Link {
        var peer: BluetoothAddress
        var role: ATTCapture.Role
        var redactor = ATTRedactor()
        var isOpen = true
        /// Whether its beginning is still in the ring.
        var isWhole = true
        /// Whether its discoveries have replaced the earlier ones.
        var hasStructure = false
    }

    /// The limits of the kept discoveries: the number of peers, and the octets of each.
    static let peerLimit = 64
    static let structureLimit = 32 << 10
    static let linkLimit = 2048
    /// The approximate size of an entry without its octets.
    private static let overhead = 96

    let duration: Duration
    let limit: Int
    let keepsValues: Bool

    private(set) var entries = Ring<Entry>()
    private(set) var size = 0
    private(set) var links: [UInt16: Link] = [:]
    private(set) var structures: [BluetoothAddress: [(pdu: [UInt8], isSent: Bool)]] = [:]
    private var structureOrder: [BluetoothAddress] = []
    private var lastNumber: UInt16 = 0

    init(duration: Duration, limit: Int, keepsValues: Bool) {
        self.duration = duration
        self.limit = limit
        self.keepsValues = keepsValues
    }

    // MARK: - Events

    mutating func opened(_ peer: BluetoothAddress, _ role: ATTCapture.Role, at time: ReceptionTime) -> UInt16? {
        guard links.count < Self.linkLimit else { return nil }
        repeat { lastNumber = lastNumber == 0x0EFF ? 1 : lastNumber + 1 } while links[lastNumber] != nil
        links[lastNumber] = Link(peer: peer, role: role)
        append(lastNumber, .opened(peer: peer, role), time)
        return lastNumber
    }

    mutating func carried(_ pdu: [UInt8], isSent: Bool, on link: UInt16, at time: ReceptionTime) {
        guard let (redacted, isStructure) = links[link]?.redactor.redact(pdu, isSent: isSent) else { return }
        if isStructure { keep(redacted, isSent: isSent, of: link) }
        append(link, .pdu(keepsValues ? pdu : redacted, isSent: isSent), time)
    }

    /// The radio had no room for the last recorded PDU of a link, which will be sent again.
    mutating func notTaken(on link: UInt16) {
        guard let last = entries.last, last.link == link, case .pdu(_, isSent: true) = last.event else { return }
        size -= Self.size(of: last.event)
        entries.replaceLast(with: Entry(link: link, time: last.time, event: .nothing))
        size += Self.size(of: .nothing)
    }

    mutating func lost(_ count: Int, on link: UInt16, at time: ReceptionTime) { append(link, .lost(count), time) }

    mutating func closed(_ link: UInt16, status: UInt8?, at time: ReceptionTime) {
        links[link]?.isOpen = false
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

    mutating func note(_ text: String, at time: ReceptionTime) { append(0, .note(text), time) }

    // MARK: - Storage

    private mutating func append(_ link: UInt16, _ event: Event, _ time: ReceptionTime) {
        entries.append(Entry(link: link, time: time, event: event))
        size += Self.size(of: event)
        while size > limit || (entries.first.map { time.sinceEpoch - $0.time.sinceEpoch > duration } ?? false) {
            guard let gone = entries.popFirst() else { break }
            size -= Self.size(of: gone.event)
            switch gone.event {
            case .opened: links[gone.link]?.isWhole = false
            case .closed: links[gone.link] = nil
            default: break
            }
        }
    }

    private static func size(of event: Event) -> Int {
        switch event {
        case .pdu(let octets, _), .advertised(_, _, _, let octets): overhead + octets.count
        case .note(let text): overhead + text.utf8.count
        case .opened, .lost, .closed, .nothing: overhead
        }
    }

    /// Keeps the PDUs of a discovery; the first one on a link replaces those of earlier links.
    private mutating func keep(_ pdu: [UInt8], isSent: Bool, of link: UInt16) {
        guard let peer = links[link]?.peer, let hasStructure = links[link]?.hasStructure else { return }
        // The exchange of the MTU occurs on each link, and discovers nothing.
        let isMTU = pdu[0] == 0x02 || pdu[0] == 0x03
        if !hasStructure {
            guard !isMTU, pdu[0] != 0x01 else { return }
            links[link]?.hasStructure = true
            if structures[peer] == nil {
                if structureOrder.count == Self.peerLimit { structures[structureOrder.removeFirst()] = nil }
                structureOrder.append(peer)
            }
            structures[peer] = []
        }
        guard let held = structures[peer], held.reduce(0, { $0 + $1.pdu.count }) < Self.structureLimit else { return }
        structures[peer]?.append((pdu, isSent))
    }
}

extension FlightLog {
    /// The ring as a btsnoop file, which btmon and Wireshark show, and which can be replayed.
    ///
    /// A link whose beginning has left the ring begins with the ring, and with the discoveries of its peer.
    func file(adapter: AdapterInfo, reason: String, at time: ReceptionTime) -> [UInt8] {
        var capture = ATTCapture(index: UInt16(adapter.name.drop { !$0.isNumber }) ?? 0)
        let begin = entries.first?.time ?? time
        var octets = capture.opening(adapter: adapter.address, name: adapter.name, time: begin)
        let values = keepsValues ? "with values" : "values are zeros"
        octets += capture.note("flight recorder, \(values): \(reason)", time: begin)
        var handles: [UInt16: ATTCapture.LinkID] = [:]
        for (number, link) in links.sorted(by: { $0.key < $1.key }) where !link.isWhole {
            open(number, link.peer, link.role, begin, &capture, &handles, &octets)
        }
        for entry in entries.elements {
            if case .opened(let peer, let role) = entry.event {
                open(entry.link, peer, role, entry.time, &capture, &handles, &octets)
            } else {
                octets += encode(entry, &capture, handles[entry.link])
            }
        }
        return octets
    }

    private func open(
        _ number: UInt16,
        _ peer: BluetoothAddress,
        _ role: ATTCapture.Role,
        _ time: ReceptionTime,
        _ capture: inout ATTCapture,
        _ handles: inout [UInt16: ATTCapture.LinkID],
        _ octets: inout [UInt8]
    ) {
        guard let opened = capture.linkOpened(peer: peer, role: role, time: time) else { return }
        handles[number] = opened.link
        octets += opened.octets
        for (pdu, isSent) in structures[peer] ?? [] {
            octets +=
                isSent
                ? capture.sent(pdu, on: opened.link, time: time) : capture.received(pdu, on: opened.link, time: time)
        }
    }

    private func encode(_ entry: Entry, _ capture: inout ATTCapture, _ link: ATTCapture.LinkID?) -> [UInt8] {
        switch (entry.event, link) {
        case (.pdu(let pdu, true), let link?): capture.sent(pdu, on: link, time: entry.time)
        case (.pdu(let pdu, false), let link?): capture.received(pdu, on: link, time: entry.time)
        case (.lost(let count), let link?): capture.dropped(count, on: link, time: entry.time)
        case (.closed(let status), let link?): capture.linkClosed(link, status: status, time: entry.time)
        case (.advertised(let address, let isConnectable, let rssi, let data), _):
            capture.advertised(
                by: address,
                isConnectable: isConnectable,
                rssi: rssi,
                data: data,
                time: entry.time
            )
        case (.note(let text), _): capture.note(text, time: entry.time)
        default: []
        }
    }
}
