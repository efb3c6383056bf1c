import BLEProtocol

extension FlightLog {
    /// The ring as a btsnoop file, which btmon and Wireshark show, and which can be replayed.
    ///
    /// A link whose beginning has left the ring begins with the ring. What was discovered of a peer follows the
    /// beginning of its first link, and of later links as far as there is room.
    func file(adapter: AdapterInfo, reason: String, at time: ReceptionTime) -> [UInt8] {
        let begin = entries.first?.time ?? time
        let capture = ATTCapture(index: UInt16(adapter.name.drop { !$0.isNumber }) ?? 0)
        let opening = capture.opening(adapter: adapter.address, name: adapter.name, time: begin)
        let values = keepsValues ? "with values" : "values are zeros"
        let note = capture.note("flight recorder, \(values): \(reason)", time: begin)
        var file = FlightFile(octets: opening + note, capture: capture, structures: structures)
        for (number, link) in links.sorted(by: { $0.key < $1.key }) where !link.isWhole {
            file.open(number, Side(peer: link.peer, role: link.role), begin)
        }
        for entry in entries.elements { file.append(entry) }
        return file.octets
    }
}

/// A file in the making.
private struct FlightFile {
    private(set) var octets: [UInt8]
    private var capture: ATTCapture
    private var handles: [UInt16: ATTCapture.LinkID] = [:]
    private let structures: [FlightLog.Side: FlightLog.Structure]
    /// The peers whose discovery is in the file.
    private var told: Set<FlightLog.Side> = []
    /// The octets of repeated discoveries.
    private var repeated = 0
    /// The packets that were lost so far, which every later record states.
    private var drops = 0

    /// The limit of ``repeated``. A replay learns a peripheral from all its links together, but btmon and Wireshark
    /// name a link's handles by the discovery before its traffic.
    private static let repetitionLimit = 2 << 20

    init(octets: [UInt8], capture: ATTCapture, structures: [FlightLog.Side: FlightLog.Structure]) {
        self.octets = octets
        self.capture = capture
        self.structures = structures
    }

    mutating func open(_ number: UInt16, _ side: FlightLog.Side, _ time: ReceptionTime) {
        guard let opened = capture.linkOpened(peer: side.peer, role: side.role, time: time) else { return }
        handles[number] = opened.link
        add(opened.octets)
        guard let structure = structures[side], mayTell(structure, of: side) else { return }
        for (pdu, isSent) in structure.pdus { append(pdu, isSent: isSent, on: opened.link, time) }
    }

    private mutating func mayTell(_ structure: FlightLog.Structure, of side: FlightLog.Side) -> Bool {
        if told.insert(side).inserted { return true }
        guard repeated + structure.size <= Self.repetitionLimit else { return false }
        repeated += structure.size
        return true
    }

    private mutating func append(_ pdu: [UInt8], isSent: Bool, on link: ATTCapture.LinkID, _ time: ReceptionTime) {
        add(isSent ? capture.sent(pdu, on: link, time: time) : capture.received(pdu, on: link, time: time))
    }

    /// Adds records, which state how many packets were lost before them.
    private mutating func add(_ records: [UInt8]) {
        var records = records
        if drops > 0 { BTSnoopRecord.setDrops(UInt32(clamping: drops), in: &records) }
        octets += records
    }

    mutating func append(_ entry: FlightLog.Entry) {
        switch (entry.event, handles[entry.link]) {
        case (.opened(let peer, let role), _):
            open(entry.link, FlightLog.Side(peer: peer, role: role), entry.time)
        case (.pdu(let pdu, let isSent), let link?): append(pdu, isSent: isSent, on: link, entry.time)
        case (.lost(let count), let link?):
            drops += count
            add(capture.dropped(count, on: link, time: entry.time))
        case (.closed(let status), let link?): add(capture.linkClosed(link, status: status, time: entry.time))
        case (.advertised(let address, let isConnectable, let rssi, let data), _):
            add(
                capture.advertised(
                    by: address,
                    isConnectable: isConnectable,
                    rssi: rssi,
                    data: data,
                    time: entry.time
                )
            )
        case (.reportsLost(let count), _):
            drops += count
            add(capture.note("\(count) packets with advertisements were lost", time: entry.time))
        default: break
        }
    }
}
