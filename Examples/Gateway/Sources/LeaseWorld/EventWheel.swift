/// What happens in a world at a time.
struct WorldEvent {
    enum Kind: UInt8 {
        case report, timer, linkTimer, stored
        case deliverUp, deliverDown, connect, clientLoses, brokerLoses, keepAlive, pulseTimeout, will
        case boot, fault, brokerStarts, snapshot, check
    }

    var kind: Kind
    /// The gateway.
    var gateway: Int32 = 0
    /// A pair of a sensor and a gateway that may hear it, or another number.
    var pair: Int32 = 0
    /// Which start of the gateway, or which connection, it belongs to: events of an earlier one are stale.
    var generation: UInt32 = 0
    var value: UInt64 = 0
}

/// A queue of events by time in milliseconds; those of one millisecond come out in the order in which they went in.
///
/// It is a wheel of lists, so adding and taking cost the same however many there are. What is further away than one
/// turn goes around.
struct EventWheel {
    private static let slots = 1 << 18
    private var first = [Int32](repeating: -1, count: slots)
    private var last = [Int32](repeating: -1, count: slots)
    /// One bit for each list that isn't empty.
    private var occupied = [UInt64](repeating: 0, count: slots / 64)
    private var events: [WorldEvent] = []
    private var times: [Int64] = []
    private var next: [Int32] = []
    private var free: Int32 = -1
    private(set) var now: Int64 = 0
    private(set) var count = 0

    /// Adds an event; one in the past comes at once.
    mutating func add(_ event: WorldEvent, at time: Int64) {
        let time = max(time, now)
        let node: Int32
        if free >= 0 {
            node = free
            free = next[Int(node)]
            events[Int(node)] = event
            times[Int(node)] = time
        } else {
            node = Int32(events.count)
            events.append(event)
            times.append(time)
            next.append(-1)
        }
        count += 1
        link(node, Int(time) & (EventWheel.slots - 1))
    }

    private mutating func link(_ node: Int32, _ slot: Int) {
        next[Int(node)] = -1
        if last[slot] < 0 { first[slot] = node } else { next[Int(last[slot])] = node }
        last[slot] = node
        occupied[slot / 64] |= 1 << UInt64(slot % 64)
    }

    /// Takes the next event until a time; `nil`: there is none, and it is that time now.
    mutating func take(until end: Int64) -> WorldEvent? {
        while now <= end {
            let slot = Int(now) & (EventWheel.slots - 1)
            if let node = takeDue(slot) {
                count -= 1
                next[node] = free
                free = Int32(node)
                return events[node]
            }
            if now == end { return nil }
            now = min(afterEmpty(now + 1), end)
        }
        return nil
    }

    /// The first time from one on whose list may have an event; at most a turn later.
    private func afterEmpty(_ time: Int64) -> Int64 {
        var time = time
        for _ in 0..<EventWheel.slots / 64 {
            let slot = Int(time) & (EventWheel.slots - 1)
            let bits = occupied[slot / 64] >> UInt64(slot % 64)
            if bits != 0 { return time + Int64(bits.trailingZeroBitCount) }
            time += Int64(64 - slot % 64)
        }
        return time
    }

    /// Unlinks the first event of a slot that is due now. Those of later turns keep their order.
    private mutating func takeDue(_ slot: Int) -> Int? {
        var previous: Int32 = -1
        var node = first[slot]
        while node >= 0 {
            let following = next[Int(node)]
            if times[Int(node)] <= now {
                if previous < 0 { first[slot] = following } else { next[Int(previous)] = following }
                if last[slot] == node { last[slot] = previous }
                if first[slot] < 0 { occupied[slot / 64] &= ~(1 << UInt64(slot % 64)) }
                return Int(node)
            }
            previous = node
            node = following
        }
        return nil
    }
}
