import Leases

/// What goes over a connection between a gateway and the broker.
enum Packet {
    case accepted(SessionID)
    case subscribe(Int32)
    case subscribed(Int32)
    case unsubscribe(Int32)
    case watch(Int32)
    case unwatch(Int32)
    case publish(Int32, LeaseMessage)
    case message(Int32, LeaseMessage, isRetained: Bool)
    case pulse(UInt64)
    case gone(Int32, SessionID)
}

/// One direction of a connection: what went in first comes out first.
struct PacketQueue {
    private var packets: [Packet] = []
    private var head = 0
    /// When the last one arrives.
    var arrival: Int64 = 0

    mutating func append(_ packet: Packet) { packets.append(packet) }

    mutating func popFirst() -> Packet? {
        guard head < packets.count else { return nil }
        let packet = packets[head]
        head += 1
        if head == packets.count {
            packets.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1024, head * 2 > packets.count {
            packets.removeFirst(head)
            head = 0
        }
        return packet
    }

    mutating func clear() {
        packets.removeAll()
        head = 0
        arrival = 0
    }
}
