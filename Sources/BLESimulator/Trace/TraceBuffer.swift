/// The newest records of an air, up to ``capacity``.
struct TraceBuffer: Sendable {
    private var ring: [AirRecord] = []
    private var oldest = 0

    /// Called with each record as it is made, even if it isn't kept.
    var observer: (@Sendable (AirRecord) -> Void)?

    /// How many records are kept; initially none.
    var capacity = 0 {
        didSet {
            let kept = records.suffix(max(capacity, 0))
            ring = Array(kept)
            oldest = 0
        }
    }

    /// The records, oldest first.
    var records: [AirRecord] { Array(ring[oldest...] + ring[..<oldest]) }

    mutating func append(_ record: AirRecord) {
        if ring.count < capacity {
            ring.append(record)
        } else {
            ring[oldest] = record
            oldest = (oldest + 1) % ring.count
        }
    }

    mutating func removeAll() {
        ring = []
        oldest = 0
    }
}

extension AirState {
    mutating func note(_ link: LinkRecord, _ event: AirRecord.Event) {
        guard trace.capacity > 0 || trace.observer != nil else { return }
        let record = AirRecord(time: now, link: Int(link.id.number), event: event)
        if trace.capacity > 0 { trace.append(record) }
        trace.observer?(record)
    }
}
